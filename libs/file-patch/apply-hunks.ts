import { setImmediate } from 'node:timers/promises';
import { type Hunk, PatchError } from './file-patch.js';
import { LineIndex } from './line-index.js';

/** Of a file with more lines each one would have to be looked at. */
export const MAX_PATCHED_LINES = 1_000_000;
const LINES_IN_A_TURN = 50_000;
const MAX_SHOWN = 200;
const LINES_AROUND = 2;
const MAX_LINES_SHOWN = 20;

/** A hunk that does not fit the file as it is. */
export class HunkMismatch extends Error {
  constructor(
    readonly hunk: Hunk,
    /** What was looked for. */
    readonly wanted: string,
    message: string,
  ) {
    super(message);
  }
}

export interface AppliedPatch {
  readonly text: string;
  /** Each change in the new text, with some lines around it: `line` is the number of the first, from 1. */
  readonly changes: readonly { readonly line: number; readonly lines: readonly string[] }[];
  /** In what the lines of hunks differ from those of the file, where they do. */
  readonly inexact: readonly { readonly hunk: number; readonly but: string }[];
}

/** Lines `at` to `at + removed` of the old text are replaced. */
interface Replacement {
  readonly at: number;
  readonly removed: number;
  readonly lines: readonly string[];
  readonly hunk: Hunk;
}

/**
 * A text with the hunks applied: all of them, each to the text as it was. Lines that stay are kept as they are in the text,
 * also where the patch has them a little otherwise, and new ones get its line ends.
 *
 * @throws HunkMismatch, PatchError
 */
export async function applyHunks(text: string, hunks: readonly Hunk[]): Promise<AppliedPatch> {
  const { lines, isOpen } = await linesOf(text);
  const index = new LineIndex(lines);
  const replacements: Replacement[] = [];
  const inexact: { hunk: number; but: string }[] = [];
  let from = 0;
  for (const hunk of hunks) {
    const { replacement, but, end } = await place(index, hunk, from);
    if (but !== null) inexact.push({ hunk: hunk.number, but });
    replacements.push(replacement);
    from = end;
  }
  replacements.sort((a, b) => a.at - b.at);
  refuseOverlaps(replacements);
  const endsWithNewline = hunks.findLast(hunk => hunk.endsWithNewline !== undefined)?.endsWithNewline;
  const isOpenAfter =
    endsWithNewline === undefined ? isOpen && !reachesEnd(replacements, lines.length) : !endsWithNewline;
  return { ...joined(lines, replacements, isOpenAfter), inexact };
}

/** `isOpen`: the last line has no end. */
async function linesOf(text: string): Promise<{ lines: string[]; isOpen: boolean }> {
  const lines: string[] = [];
  let from = 0;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', from)) {
    lines.push(text.slice(from, at));
    from = at + 1;
    if (lines.length % LINES_IN_A_TURN === 0) await setImmediate();
    if (lines.length > MAX_PATCHED_LINES)
      throw new PatchError(
        `a file with more than ${MAX_PATCHED_LINES} lines cannot be patched; change it with a command`,
      );
  }
  const isOpen = from < text.length;
  if (isOpen) lines.push(text.slice(from));
  return { lines, isOpen };
}

interface Placed {
  readonly replacement: Replacement;
  readonly but: string | null;
  /** Where the next hunk is looked for. */
  readonly end: number;
}

async function place(index: LineIndex, hunk: Hunk, from: number): Promise<Placed> {
  let start = from;
  for (const anchor of hunk.anchors) {
    const found = await index.find({ lines: [anchor], from: start });
    if (!found)
      throw new HunkMismatch(hunk, anchor, `there is no line ${JSON.stringify(anchor.slice(0, MAX_SHOWN))}`);
    start = found.at + 1;
  }
  const old = hunk.lines.filter(({ sign }) => sign !== '+').map(({ text }) => text);
  if (old.length === 0) return insertion(index, hunk, start);
  const near = hunk.expected === undefined ? undefined : hunk.expected - 1;
  const wanted = { from: start, near, isAtEnd: hunk.isAtEnd };
  const whole = await index.find({ ...wanted, lines: old });
  const found = whole ? { ...whole, lines: hunk.lines } : await withoutLastBlank(index, hunk, wanted);
  if (!found) throw new HunkMismatch(hunk, old.join('\n'), 'its lines are not in the file');
  const { at, but, lines: kept } = found;
  return {
    replacement: replacementAt(index, hunk, kept, at),
    but,
    end: at + kept.filter(({ sign }) => sign !== '+').length,
  };
}

/** Models end hunks with a blank line that is none of the file's. */
async function withoutLastBlank(
  index: LineIndex,
  hunk: Hunk,
  wanted: { from: number; near?: number; isAtEnd: boolean },
): Promise<{ at: number; but: string | null; lines: Hunk['lines'] } | undefined> {
  const last = hunk.lines.findLastIndex(({ sign }) => sign !== '+');
  if (hunk.lines[last]?.sign !== ' ' || hunk.lines[last].text.trim() !== '') return undefined;
  const lines = hunk.lines.filter((_, at) => at !== last);
  const old = lines.filter(({ sign }) => sign !== '+').map(({ text }) => text);
  if (old.length === 0) return undefined;
  const found = await index.find({ ...wanted, lines: old });
  return found && { ...found, lines };
}

/** New lines alone: after the anchor, where the diff says, or at the end. */
function insertion(index: LineIndex, hunk: Hunk, start: number): Placed {
  const { lines } = index;
  const expected = hunk.expected === undefined ? lines.length : Math.min(hunk.expected - 1, lines.length);
  const at = hunk.anchors.length > 0 ? start : expected;
  return { replacement: replacementAt(index, hunk, hunk.lines, at), but: null, end: at };
}

function replacementAt({ lines }: LineIndex, hunk: Hunk, changed: Hunk['lines'], at: number): Replacement {
  let next = at;
  const after: string[] = [];
  const ends = (lines[at] ?? lines[at - 1] ?? '').endsWith('\r') ? '\r' : '';
  for (const { sign, text } of changed) {
    if (sign === '+') after.push(ends && !text.endsWith('\r') ? `${text}${ends}` : text);
    else if (sign === '-') next++;
    else after.push(lines[next++] ?? text);
  }
  return { at, removed: next - at, lines: after, hunk };
}

function refuseOverlaps(replacements: readonly Replacement[]): void {
  for (const [index, { at, hunk }] of replacements.entries()) {
    const before = replacements[index - 1];
    if (before && before.at + before.removed > at)
      throw new HunkMismatch(hunk, '', `it changes the same lines as hunk ${before.hunk.number}`);
  }
}

const reachesEnd = (replacements: readonly Replacement[], length: number): boolean => {
  const last = replacements.at(-1);
  // What stays at the end stays without a line end, too.
  return last !== undefined && last.at + last.removed >= length && last.hunk.lines.at(-1)?.sign !== ' ';
};

function joined(
  lines: readonly string[],
  replacements: readonly Replacement[],
  isOpen: boolean,
): Pick<AppliedPatch, 'text' | 'changes'> {
  const parts: string[] = [];
  const places: { from: number; to: number }[] = [];
  let from = 0;
  for (const { at, removed, lines: fresh } of replacements) {
    for (; from < at; from++) parts.push(lines[from] ?? '');
    places.push({ from: parts.length, to: parts.length + fresh.length });
    for (const one of fresh) parts.push(one);
    from = at + removed;
  }
  for (; from < lines.length; from++) parts.push(lines[from] ?? '');
  const text = parts.join('\n');
  const changes = places.map(({ from, to }) => {
    const first = Math.max(0, from - LINES_AROUND);
    return {
      line: first + 1,
      lines: parts.slice(first, Math.min(to, from + MAX_LINES_SHOWN) + LINES_AROUND),
    };
  });
  return { text: parts.length === 0 || isOpen ? text : `${text}\n`, changes };
}
