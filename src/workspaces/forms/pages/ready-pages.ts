import { documentOf, type SharePage } from '../../exposure/index.js';
import type { FormDefinition } from '../file/index.js';
import { formPage, type ShownForm } from './form-page.js';

/** What stands in the place of what differs from visit to visit; no text of a form holds it. */
const MARKS = { ticket: '\u0000ticket', decoy: '\u0000decoy' };

interface Ready {
  readonly page: SharePage;
  /** What is between the marks, and which mark follows. */
  readonly pieces: readonly { readonly bytes: Buffer; readonly mark: 'ticket' | 'decoy' | undefined }[];
}

const MAX_READY = 200;

/** Forms that nobody has filled in, made once and sent with the ticket of each visit. */
export class ReadyPages {
  private readonly ready = new WeakMap<FormDefinition, Map<string, Ready>>();

  of(form: Omit<ShownForm, 'filled'>): { page: SharePage; document: Buffer } {
    const { page, pieces } = this.find(form);
    const parts = pieces.flatMap(({ bytes, mark }) => (mark ? [bytes, Buffer.from(form[mark])] : [bytes]));
    return { page, document: Buffer.concat(parts) };
  }

  private find(form: Omit<ShownForm, 'filled'>): Ready {
    const { definition, home, proof } = form;
    const pages = this.ready.get(definition) ?? new Map<string, Ready>();
    this.ready.set(definition, pages);
    const key = `${home} ${proof}`;
    const known = pages.get(key);
    if (known) return known;
    const made = readyPage(formPage({ ...form, ...MARKS }));
    if (pages.size >= MAX_READY) pages.clear();
    pages.set(key, made);
    return made;
  }
}

function readyPage(page: SharePage): Ready {
  const parts = documentOf(page).split(/\0(ticket|decoy)/);
  const pieces = [];
  for (let at = 0; at < parts.length; at += 2)
    pieces.push({
      bytes: Buffer.from(parts[at] ?? ''),
      mark: parts[at + 1] as 'ticket' | 'decoy' | undefined,
    });
  return { page, pieces };
}
