import { LRUCache } from 'lru-cache';
import { buildHeaders, renderDocument } from '../../exposure/index.js';
import type { FormDefinition } from '../file/form-definition.js';
import { formPage, type ShownForm } from './form-page.js';

/** What stands in the place of what differs from visit to visit; no text of a form holds it. */
const MARKS = { ticket: '\u0000ticket', decoy: '\u0000decoy' };

type Mark = keyof typeof MARKS;

interface Ready {
  readonly headers: Readonly<Record<string, string>>;
  /** What comes before each mark. */
  readonly pieces: readonly { readonly text: string; readonly mark: Mark }[];
  readonly last: string;
  /** In bytes, of all but the marks. */
  readonly length: number;
}

const MAX_READY = 200;

/** Forms that nobody has filled in, made once and sent with the ticket of each visit. */
export class ReadyPages {
  private readonly ready = new WeakMap<FormDefinition, LRUCache<string, Ready>>();

  /** A string, not bytes: Node.js writes it to the socket together with the head. */
  fill(form: Omit<ShownForm, 'filled'>): {
    headers: Readonly<Record<string, string | number>>;
    document: string;
  } {
    const { headers, pieces, last, length } = this.find(form);
    let document = '';
    let bytes = length;
    for (const { text, mark } of pieces) {
      document += text + form[mark];
      // Both marks are ASCII.
      bytes += form[mark].length;
    }
    // A number: Fastify compares it with the length that it counts, and counts once more where they differ.
    return { headers: { ...headers, 'content-length': bytes }, document: document + last };
  }

  private find(form: Omit<ShownForm, 'filled'>): Ready {
    const { definition, home, proof } = form;
    const pages = this.ready.get(definition) ?? new LRUCache<string, Ready>({ max: MAX_READY });
    this.ready.set(definition, pages);
    const key = `${home} ${proof}`;
    const known = pages.get(key);
    if (known) return known;
    const made = readyPage(form);
    pages.set(key, made);
    return made;
  }
}

function readyPage(form: Omit<ShownForm, 'filled'>): Ready {
  const page = formPage({ ...form, ...MARKS });
  const parts = renderDocument(page).split(/\0(ticket|decoy)/);
  const pieces = [];
  for (let at = 0; at < parts.length - 1; at += 2)
    pieces.push({ text: parts[at] ?? '', mark: parts[at + 1] as Mark });
  const last = parts.at(-1) ?? '';
  const length = pieces.reduce((sum, { text }) => sum + Buffer.byteLength(text), Buffer.byteLength(last));
  return { headers: buildHeaders(page), pieces, last, length };
}
