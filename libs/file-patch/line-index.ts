import { setImmediate } from 'node:timers/promises';

const LINES_IN_A_TURN = 20_000;
/** Longer lines are compared as they are. */
const MAX_LOOSE_LINE = 10_000;

/** How lines are compared: first as they are, then with ever less regard to what models get wrong. */
const LEVELS = [
  { name: null, keyOf: (line: string) => line },
  { name: 'white space at the end of lines', keyOf: (line: string) => line.trimEnd() },
  { name: 'white space at the beginning or the end of lines', keyOf: (line: string) => line.trim() },
  { name: 'white space, quotes or dashes', keyOf: plain },
] as const;

/** Where lines stand in a text; `but` says in what they differ there. */
export interface FoundLines {
  readonly at: number;
  readonly but: string | null;
}

export interface Wanted {
  readonly lines: readonly string[];
  /** From this line on, if they are there; else anywhere. */
  readonly from: number;
  /** Of several places the nearest to this line; absent: the first. */
  readonly near?: number;
  /** They are the last lines, if they are there. */
  readonly isAtEnd?: boolean;
}

/** The lines of a text, for finding some of them: in time that grows with the text alone, and in turns with other work. */
export class LineIndex {
  private readonly keys = new Map<number, Int32Array>();
  private readonly numbers: Map<string, number>[] = LEVELS.map(() => new Map<string, number>());

  constructor(readonly lines: readonly string[]) {}

  async find(wanted: Wanted): Promise<FoundLines | undefined> {
    if (wanted.lines.length > this.lines.length) return undefined;
    for (const [level, { name, keyOf }] of LEVELS.entries()) {
      const keys = await this.keysAt(level);
      const numbers = this.numbers[level];
      const pattern = Int32Array.from(wanted.lines, line => numbers?.get(loosely(line, keyOf)) ?? -1);
      if (pattern.includes(-1)) continue;
      const at = await placeOf(keys, pattern, wanted);
      if (at !== undefined) return { at, but: name };
    }
    return undefined;
  }

  /** Lines that are the same have the same number. */
  private async keysAt(level: number): Promise<Int32Array> {
    const known = this.keys.get(level);
    if (known) return known;
    const keys = new Int32Array(this.lines.length);
    const numbers = this.numbers[level] ?? new Map<string, number>();
    const { keyOf } = LEVELS[level] ?? LEVELS[0];
    for (const [at, line] of this.lines.entries()) {
      if (at % LINES_IN_A_TURN === LINES_IN_A_TURN - 1) await setImmediate();
      const key = loosely(line, keyOf);
      const number = numbers.get(key) ?? numbers.size;
      numbers.set(key, number);
      keys[at] = number;
    }
    this.keys.set(level, keys);
    return keys;
  }
}

const loosely = (line: string, keyOf: (line: string) => string): string =>
  line.length > MAX_LOOSE_LINE ? line : keyOf(line);

function plain(line: string): string {
  return line
    .trim()
    .replaceAll(/[‘’‚‛]/g, "'")
    .replaceAll(/[“”„‟]/g, '"')
    .replaceAll(/[‐-―−]/g, '-')
    .replaceAll(/\s+/g, ' ');
}

async function placeOf(
  keys: Int32Array,
  pattern: Int32Array,
  { from, near, isAtEnd }: Wanted,
): Promise<number | undefined> {
  const last = keys.length - pattern.length;
  if (isAtEnd && pattern.every((key, index) => keys[last + index] === key)) return last;
  if (near !== undefined) return nearestPlace(keys, pattern, near);
  return (await firstPlace(keys, pattern, from)) ?? (from > 0 ? firstPlace(keys, pattern, 0) : undefined);
}

async function firstPlace(keys: Int32Array, pattern: Int32Array, from: number): Promise<number | undefined> {
  let first: number | undefined;
  await scan(keys, pattern, from, at => {
    first = at;
    return true;
  });
  return first;
}

async function nearestPlace(
  keys: Int32Array,
  pattern: Int32Array,
  near: number,
): Promise<number | undefined> {
  let best: number | undefined;
  await scan(keys, pattern, 0, at => {
    if (best !== undefined && Math.abs(at - near) > Math.abs(best - near)) return true;
    best = at;
    return false;
  });
  return best;
}

/** Finds a sequence in another one (Knuth, Morris and Pratt), place by place until one is `enough`. */
async function scan(
  keys: Int32Array,
  pattern: Int32Array,
  from: number,
  enough: (at: number) => boolean,
): Promise<void> {
  const border = new Int32Array(pattern.length);
  for (let at = 1, length = 0; at < pattern.length; at++) {
    while (length > 0 && pattern[at] !== pattern[length]) length = border[length - 1] ?? 0;
    if (pattern[at] === pattern[length]) length++;
    border[at] = length;
  }
  for (let at = from, length = 0; at < keys.length; at++) {
    if (at % LINES_IN_A_TURN === LINES_IN_A_TURN - 1) await setImmediate();
    while (length > 0 && keys[at] !== pattern[length]) length = border[length - 1] ?? 0;
    if (keys[at] === pattern[length]) length++;
    if (length < pattern.length) continue;
    if (enough(at - length + 1)) return;
    length = border[length - 1] ?? 0;
  }
}
