import { rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Injectable } from '@nestjs/common';
import { Log } from '../../../platform/log/index.js';
import { Topics } from '../../../platform/topics/index.js';
import { ViewerKeys, viewerKeysTopic } from '../../gateway/index.js';

const NAME = 'viewer-jwks.json';
/** Path of the service folder inside the sandbox, and of the key file in it. */
export const PROGRAM_FOLDER = '/run/server';
export const VIEWER_KEYS_PATH = path.posix.join(PROGRAM_FOLDER, NAME);

/** Public keys that verify X-Atelier-Viewer, as a file: programs may have no network. */
@Injectable()
export class ViewerKeyFile {
  constructor(
    private readonly keys: ViewerKeys,
    private readonly topics: Topics,
    private readonly log: Log,
  ) {}

  /** Keeps the file current. Returns a function that ends that. */
  async keep(folder: string): Promise<() => void> {
    await this.write(folder);
    return this.topics.subscribe(viewerKeysTopic, () => {
      this.write(folder).catch((error: unknown) =>
        this.log.warn({ err: error }, 'the keys of viewers could not be given to a server'),
      );
    });
  }

  private async write(folder: string): Promise<void> {
    const file = path.join(folder, NAME);
    await writeFile(`${file}.new`, JSON.stringify(await this.keys.jwks()), { mode: 0o644 });
    await rename(`${file}.new`, file);
  }
}
