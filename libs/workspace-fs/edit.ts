import { isUtf8 } from 'node:buffer';
import { setImmediate } from 'node:timers/promises';
import { MAX_EDITED_BYTES } from './draft.js';
import { type Entry } from './entry.js';
import { WorkspaceFsError } from './errors.js';
import { nearest, numbered } from './nearest.js';
import { tooLarge } from './new-file.js';
import { quotePath } from './quote-path.js';
import { reading } from './read.js';
import type { Tree } from './tree.js';
import { type BeforePlacing, write } from './write.js';

/** One piece of text that takes the place of another, which occurs once; or of each, with `replace_all`. */
export interface TextEdit {
  old_text: string;
  new_text: string;
  replace_all?: boolean;
}

export interface EditOptions extends TextEdit {
  ifMatch?: string;
  /** Awaited when the edit is known to fit: the entity tag of the file, and the lines around it as they are; may refuse. */
  check?: (etag: string, shown: () => string) => Promise<void>;
  /** As for a write. */
  beforePlacing?: BeforePlacing;
  /** Runs the write, once it is known by how many bytes the file grows (less than none where it shrinks); may refuse. */
  around?: <T>(growth: number, write: () => Promise<T>) => Promise<T>;
}

export interface EditedText {
  text: string;
  /** Where the first occurrence was. */
  at: number;
  replacements: number;
  /** The first line that changed, from 1. */
  line: number;
  /** The first change with the lines around it, each after its number; long ones are cut. */
  excerpt: string;
}

export interface Edited extends Omit<EditedText, 'text' | 'at'> {
  entry: Entry;
}

/** Replaces text in a file. Edits of this process take turns; one that anyone else's write crosses fails. */
export function edit(tree: Tree, path: string, options: EditOptions): Promise<Edited> {
  return tree.alone(path, async () => {
    const { text, etag, size } = await readForEdit(tree, path);
    if (options.ifMatch !== undefined && options.ifMatch !== '*' && options.ifMatch !== etag) {
      throw new WorkspaceFsError('precondition_failed', path);
    }
    const { beforePlacing, around = (_growth, work) => work() } = options;
    const fitted = withLineEndsOf(text, options);
    const { text: edited, at, ...change } = await editText(path, text, fitted, limitOf(tree));
    await options.check?.(etag, () => excerptOf(text, at, at + fitted.old_text.length, change.line));
    return around(Buffer.byteLength(edited) - size, async () => {
      const { entry } = await write(tree, path, edited, { ifMatch: etag, beforePlacing }, (_path, work) =>
        work(),
      );
      return { entry, ...change };
    });
  });
}

/**
 * A text in which something is replaced: what becomes of it, which may have `limit` bytes; `path` is what errors name. Lines
 * end as those of the text do.
 */
export async function editText(
  path: string,
  text: string,
  options: TextEdit,
  limit = MAX_EDITED_BYTES,
): Promise<EditedText> {
  const fitted = withLineEndsOf(text, options);
  const { old_text, new_text } = fitted;
  const replacements = await countReplacements(text, path, fitted);
  const growth = replacements * (Buffer.byteLength(new_text) - Buffer.byteLength(old_text));
  refuseIfTooLarge(limit, path, Buffer.byteLength(text) + growth);
  const edited = await replaced(text, old_text, new_text);
  if (text.length > LONG_TEXT) await setImmediate();
  const at = text.indexOf(old_text);
  const line = 1 + (await countIn(text.slice(0, at), '\n', 1));
  return { text: edited, at, replacements, line, excerpt: excerptOf(edited, at, at + new_text.length, line) };
}

const LONE_LF = /(?<!\r)\n/g;

/** An edit of a text whose lines end in CR LF, for who knows them as ending in LF; others are as given. */
function withLineEndsOf(text: string, edit: TextEdit): TextEdit {
  const { old_text, new_text } = edit;
  if (!text.includes('\r\n')) return edit;
  const old = old_text.replace(LONE_LF, '\r\n');
  const isMeant = old !== old_text && !text.includes(old_text) && text.includes(old);
  const at = text.indexOf(isMeant ? old : old_text);
  // The line end of the place decides where lines end differently.
  const end = text.indexOf('\n', Math.max(0, at));
  const decides = end === -1 ? text.lastIndexOf('\n') : end;
  if (text[decides - 1] !== '\r') return edit;
  return { ...edit, old_text: isMeant ? old : old_text, new_text: new_text.replace(LONE_LF, '\r\n') };
}

/** Before anything of that size is made. */
function refuseIfTooLarge(limit: number, path: string, size: number): void {
  if (size <= limit) return;
  const message = `${quotePath(path)} would have ${size} bytes; a file that is edited may have ${limit}`;
  throw new WorkspaceFsError('too_large', path, message);
}

const limitOf = (tree: Tree): number => Math.min(MAX_EDITED_BYTES, tree.options.maxFileBytes);

function readForEdit(tree: Tree, path: string): Promise<{ text: string; etag: string; size: number }> {
  const limit = limitOf(tree);
  return reading(tree, path, async file => {
    if (file.entry.size > limit) throw tooLarge(path, limit);
    const bytes = await file.bytes();
    if (!isUtf8(bytes)) throw new WorkspaceFsError('not_text', path);
    return { text: bytes.toString('utf8'), etag: file.entry.etag ?? '', size: bytes.byteLength };
  });
}

async function countReplacements(
  text: string,
  path: string,
  { old_text, replace_all }: TextEdit,
): Promise<number> {
  if (old_text === '') throw new WorkspaceFsError('no_match', path, 'The text to replace is empty');
  const where = quotePath(path);
  const count = await countIn(text, old_text, replace_all ? old_text.length : 1);
  if (count === 0) {
    const hint = await nearest(text, old_text);
    const message = `The text to replace was not found in ${where}${hint ? `; ${hint}` : ''}`;
    throw new WorkspaceFsError('no_match', path, message);
  }
  if (count > 1 && !replace_all) {
    const advice = 'give more of the text around it, or replace all';
    throw new WorkspaceFsError('ambiguous', path, `The text occurs ${count} times in ${where}; ${advice}`);
  }
  return count;
}

const CONTEXT_LINES = 3;
const MAX_EXCERPT_LINES = 30;
/** Enough for that many lines of usual length. */
const MAX_EXCERPT = 8_000;

/** What stands around the part from `from` to `to` in `text`, which begins in the line `line`. */
export function excerptOf(text: string, from: number, to: number, line: number): string {
  const head = text.slice(Math.max(0, from - MAX_EXCERPT / 4), from).split('\n');
  const before = head.slice(-1 - CONTEXT_LINES);
  const change = text.slice(from, Math.min(to, from + MAX_EXCERPT));
  const tail = text.slice(to, to + MAX_EXCERPT / 4).split('\n');
  const after =
    change.length < to - from ? [] : tail.slice(0, CONTEXT_LINES + (change.endsWith('\n') ? 0 : 1));
  const lines = `${before.join('\n')}${change}${after.join('\n')}`.replace(/\n$/, '').split('\n');
  const shown = lines.slice(0, MAX_EXCERPT_LINES).map(one => one.replace(/\r$/, ''));
  const isCut = lines.length > shown.length || change.length < to - from;
  return `${numbered(shown, line - before.length + 1)}${isCut ? '\n…' : ''}`;
}

/** To look through one takes its time, and several edits may follow each other. */
const LONG_TEXT = 256 * 1024;
/** Done with before it is the turn of others. */
const PLACES_IN_A_TURN = 50_000;

/** With a step of 1, overlapping ones count as well: which of them is meant would be a guess. */
async function countIn(text: string, part: string, step: number): Promise<number> {
  let count = 0;
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + step))
    if (++count % PLACES_IN_A_TURN === 0) await setImmediate();
  return count;
}

async function replaced(text: string, part: string, by: string): Promise<string> {
  let whole = '';
  let pieces: string[] = [];
  let from = 0;
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, from)) {
    pieces.push(text.slice(from, at));
    from = at + part.length;
    if (pieces.length < PLACES_IN_A_TURN) continue;
    whole += pieces.join(by) + by;
    pieces = [];
    await setImmediate();
  }
  pieces.push(text.slice(from));
  return whole + pieces.join(by);
}
