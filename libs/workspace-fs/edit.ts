import { isUtf8 } from 'node:buffer';
import { type Entry } from './entry.js';
import { WorkspaceFsError } from './errors.js';
import { tooLarge } from './new-file.js';
import { quotePath } from './quote-path.js';
import { reading } from './read.js';
import type { Tree } from './tree.js';
import { write } from './write.js';

const MAX_EDITED_BYTES = 16 * 1024 * 1024;

export interface EditOptions {
  old_text: string;
  new_text: string;
  replace_all?: boolean;
  ifMatch?: string;
}

export interface Edited {
  entry: Entry;
  replacements: number;
}

/** Replaces text in a file. Edits of this process take turns; one that anyone else's write crosses fails. */
export function edit(tree: Tree, path: string, options: EditOptions): Promise<Edited> {
  return tree.alone(path, async () => {
    const { text, etag } = await readForEdit(tree, path);
    if (options.ifMatch !== undefined && options.ifMatch !== '*' && options.ifMatch !== etag) {
      throw new WorkspaceFsError('precondition_failed', path);
    }
    const replacements = countReplacements(text, path, options);
    const edited = text.split(options.old_text).join(options.new_text);
    const { entry } = await write(tree, path, edited, { ifMatch: etag }, (_path, work) => work());
    return { entry, replacements };
  });
}

function readForEdit(tree: Tree, path: string): Promise<{ text: string; etag: string }> {
  const limit = Math.min(MAX_EDITED_BYTES, tree.options.maxFileBytes);
  return reading(tree, path, async file => {
    if (file.entry.size > limit) throw tooLarge(path, limit);
    const bytes = await file.bytes();
    if (!isUtf8(bytes)) throw new WorkspaceFsError('not_text', path);
    return { text: bytes.toString('utf8'), etag: file.entry.etag ?? '' };
  });
}

function countReplacements(text: string, path: string, { old_text, replace_all }: EditOptions): number {
  if (old_text === '') throw new WorkspaceFsError('no_match', path, 'The text to replace is empty');
  const where = quotePath(path);
  const count = occurrences(text, old_text, replace_all ? old_text.length : 1);
  if (count === 0) {
    const hint = text.includes(old_text.replaceAll('\n', '\r\n')) ? '; its lines end in CR LF' : '';
    throw new WorkspaceFsError('no_match', path, `The text to replace was not found in ${where}${hint}`);
  }
  if (count > 1 && !replace_all) {
    const advice = 'give more of the text around it, or replace all';
    throw new WorkspaceFsError('ambiguous', path, `The text occurs ${count} times in ${where}; ${advice}`);
  }
  return count;
}

/** With a step of 1, overlapping ones count as well: which of them is meant would be a guess. */
function occurrences(text: string, part: string, step: number): number {
  let count = 0;
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + step)) count++;
  return count;
}
