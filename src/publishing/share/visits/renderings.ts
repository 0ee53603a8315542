import { Injectable } from '@nestjs/common';
import { task, Workers } from '../../../platform/workers/index.js';
import { chooseShowing } from '../pages/file-page.js';
import type { Beside } from '../pages/location.js';
import type { Rendered } from '../pages/render-task.js';

/** Far more than a text of the length that is shown takes, unless it was written to take long. */
const RENDER_MS = 500;

const PAGES = 'src/publishing/share/pages/render-task';
const MARKDOWN = task(PAGES, 'markdown');
const SHEET = task(PAGES, 'sheet');

/** Texts as what they mean, made away from the event loop. Undefined for what is shown as it is written. */
@Injectable()
export class Renderings {
  constructor(private readonly workers: Workers) {}

  async render(text: string, name: string, beside: Beside): Promise<Rendered | undefined> {
    const showing = chooseShowing(name);
    if (showing === 'markdown') return this.workers.attempt(MARKDOWN, { text, beside }, RENDER_MS);
    if (showing === 'csv') return this.workers.attempt(SHEET, { text, name }, RENDER_MS);
    return undefined;
  }
}
