import { setImmediate } from 'node:timers/promises';

/** Of larger ones nothing is compared: a hint is not worth the time. */
const MAX_TEXT = 1024 * 1024;
const MAX_PART = 64 * 1024;
const MAX_SHOWN_LINES = 20;
const MAX_SHOWN_LINE = 200;
const LINES_IN_A_TURN = 5_000;
/** Of a longer line, only its beginning is compared: it may be all of the text, and is compared in one go. */
const MAX_COMPARED = 10_000;

/** Lines of a text, as they are told to a reader: with their numbers. `first` is from 1. */
export function numbered(lines: readonly string[], first: number): string {
  return lines.map((line, index) => `${first + index}\t${clipped(line)}`).join('\n');
}

function clipped(line: string): string {
  return line.length > MAX_SHOWN_LINE ? `${line.slice(0, MAX_SHOWN_LINE).toWellFormed()}…` : line;
}

/**
 * Where `text` comes nearest to `part`, which it does not hold, and in what the two differ; undefined where no lines are
 * alike, or where either is too long to be compared.
 */
export async function nearest(text: string, part: string): Promise<string | undefined> {
  if (text.length > MAX_TEXT || part.length > MAX_PART) return undefined;
  const lines = text.split('\n');
  const wanted = part.replace(/\n$/, '').split('\n');
  const start = (await alike(lines, wanted)) ?? (await similar(lines, wanted));
  if (start === undefined) return undefined;
  const there = lines.slice(start, start + wanted.length);
  const shown = there.slice(0, MAX_SHOWN_LINES);
  const rest = there.length > shown.length ? `\n… ${there.length - shown.length} more lines` : '';
  const shownText = shown.map(line => line.replace(/\r$/, ''));
  return `the nearest is at line ${start + 1}, ${difference(there, wanted, start)}:\n${numbered(shownText, start + 1)}${rest}`;
}

const plain = (line: string): string =>
  line
    .slice(0, MAX_COMPARED)
    .replaceAll(/[\u2018\u2019\u201c\u201d"`]/g, "'")
    .replaceAll(/\s+/g, ' ')
    .trim();

/** The first line of where most of the lines stand, but for white space and quotes. */
async function alike(lines: readonly string[], wanted: readonly string[]): Promise<number | undefined> {
  const places = new Map<string, number>();
  for (const [index, line] of wanted.entries()) {
    const key = plain(line);
    if (key.length > 1 && !places.has(key)) places.set(key, index);
  }
  const votes = new Map<number, number>();
  let best: number | undefined;
  for (const [index, line] of lines.entries()) {
    if (index % LINES_IN_A_TURN === LINES_IN_A_TURN - 1) await setImmediate();
    const place = places.get(plain(line));
    const start = place === undefined ? -1 : index - place;
    if (start < 0) continue;
    const count = (votes.get(start) ?? 0) + 1;
    votes.set(start, count);
    if (best === undefined || count > (votes.get(best) ?? 0)) best = start;
  }
  return best;
}

const wordsOf = (line: string): Set<string> => new Set(line.slice(0, MAX_COMPARED).match(/[\p{L}\p{N}_]+/gu));

/** The first line of where the longest line has most of its words. */
async function similar(lines: readonly string[], wanted: readonly string[]): Promise<number | undefined> {
  let place = 0;
  for (const [index, line] of wanted.entries())
    if (line.trim().length > (wanted[place] ?? '').trim().length) place = index;
  const words = wordsOf(wanted[place] ?? '');
  let best: number | undefined;
  let least = 0.5;
  for (const [index, line] of lines.entries()) {
    if (index % LINES_IN_A_TURN === LINES_IN_A_TURN - 1) await setImmediate();
    const there = wordsOf(line);
    const shared = [...there].filter(word => words.has(word)).length;
    const likeness = (2 * shared) / Math.max(1, words.size + there.size);
    if (likeness <= least || index < place) continue;
    least = likeness;
    best = index - place;
  }
  return best;
}

function difference(there: readonly string[], wanted: readonly string[], start: number): string {
  const same = (as: (line: string) => string) =>
    there.length === wanted.length && wanted.every((line, index) => as(line) === as(there[index] ?? ''));
  if (same(line => line.replace(/\r$/, ''))) return 'which differs in its line ends (CR LF)';
  if (same(line => line.slice(0, MAX_COMPARED).replaceAll(/\s+/g, ' ').trim()))
    return 'which differs in white space';
  if (same(plain)) return 'which differs in quotes or white space';
  const at = wanted.findIndex((line, index) => plain(line) !== plain(there[index] ?? ''));
  const asked = clipped(wanted[Math.max(0, at)] ?? '').trim();
  return `where line ${start + Math.max(0, at) + 1} is not ${JSON.stringify(asked)}`;
}
