import type { CatalogAction } from './catalog-action.js';

/** Words that carry no meaning in a question for an action. */
const FILLERS = new Set(
  'a all an and any as by can do for from how i in into is it its me my of on or please some that the their this to want with'.split(
    ' ',
  ),
);

/** What people say, and the words that the catalog uses for it. */
const SYNONYMS: Readonly<Record<string, string>> = {
  add: 'create mkdir put',
  alter: 'update',
  change: 'update',
  cost: 'billing',
  directory: 'folder',
  document: 'file',
  erase: 'delete',
  fetch: 'read',
  find: 'search',
  get: 'read',
  message: 'send',
  modify: 'update',
  make: 'create mkdir',
  new: 'create mkdir',
  publish: 'promote',
  remove: 'delete',
  rename: 'move update',
  show: 'list read',
  spend: 'billing',
  view: 'read',
};

const NAME_WEIGHT = 10;
const SUMMARY_WEIGHT = 4;
/** A word that is asked for under another name counts a little less than the word itself. */
const SYNONYM = 0.7;

type Indexed = { action: CatalogAction; name: readonly string[]; summary: readonly string[] };

/**
 * Finds actions by words: those of the name and title count most, then those of the summary; a word counts by its
 * rareness, whole before its beginning before a misspelling of it.
 */
export class ActionSearch {
  private readonly index: readonly Indexed[];
  private readonly rareness = new Map<string, number>();

  constructor(actions: readonly CatalogAction[]) {
    this.index = actions.map(action => ({
      action,
      name: wordsOf(`${action.name} ${action.title}`),
      summary: wordsOf(action.declaration.summary),
    }));
    const counts = new Map<string, number>();
    for (const { name, summary } of this.index)
      for (const word of new Set([...name, ...summary])) counts.set(word, (counts.get(word) ?? 0) + 1);
    for (const [word, count] of counts) this.rareness.set(word, Math.log(1 + this.index.length / count));
  }

  find(question: string): CatalogAction[] {
    const asked = wordsOf(question);
    return this.index
      .map(entry => ({ entry, score: this.score(entry, asked) }))
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score || compare(a.entry, b.entry))
      .map(({ entry }) => entry.action);
  }

  private score({ name, summary }: Indexed, asked: readonly string[]): number {
    let total = 0;
    let found = 0;
    for (const word of asked) {
      const points = Math.max(this.points(word, name, summary), this.pointsOfSynonym(word, name, summary));
      total += points;
      if (points > 0) found++;
    }
    return asked.length === 0 ? 0 : total * (found / asked.length);
  }

  private pointsOfSynonym(word: string, name: readonly string[], summary: readonly string[]): number {
    const synonyms = Object.hasOwn(SYNONYMS, word) ? (SYNONYMS[word]?.split(' ') ?? []) : [];
    return SYNONYM * Math.max(0, ...synonyms.map(synonym => this.points(synonym, name, summary)));
  }

  private points(word: string, name: readonly string[], summary: readonly string[]): number {
    const best = (words: readonly string[], weight: number) =>
      Math.max(0, ...words.map(known => weight * likeness(word, known) * (this.rareness.get(known) ?? 1)));
    return best(name, NAME_WEIGHT) + best(summary, SUMMARY_WEIGHT);
  }
}

/** Shorter names are the plainer actions. */
function compare(a: Indexed, b: Indexed): number {
  return a.name.length - b.name.length || (a.action.name < b.action.name ? -1 : 1);
}

/** 1 for the same word, less for its beginning and for a misspelling, else 0. */
function likeness(asked: string, known: string): number {
  if (asked === known) return 1;
  if (asked.length >= 3 && known.startsWith(asked)) return 0.6;
  if (known.length >= 4 && asked.startsWith(known)) return 0.4;
  const slips = asked.length >= 8 ? 2 : asked.length >= 4 ? 1 : 0;
  return slips > 0 && isWithin(asked, known, slips) ? 0.3 : 0;
}

function wordsOf(text: string): string[] {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return [...new Set(words.filter(word => !FILLERS.has(word)).map(singular))].slice(0, 50);
}

/** `chats` → `chat`, `keys` → `key`; rough on purpose, as both sides go through it. */
function singular(word: string): string {
  if (word.length > 4 && word.endsWith('ies')) return `${word.slice(0, -3)}y`;
  return word.length > 3 && word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word;
}

/** Whether at most `most` letters were added, dropped, changed or swapped with their neighbour (Damerau-Levenshtein). */
function isWithin(a: string, b: string, most: number): boolean {
  if (Math.abs(a.length - b.length) > most) return false;
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const next = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1] ? 0 : 1;
      const cost = Math.min(
        at(last, column) + 1,
        at(next, column - 1) + 1,
        at(last, column - 1) + same,
        row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
          ? at(before, column - 2) + 1
          : Number.POSITIVE_INFINITY,
      );
      next.push(cost);
    }
    before = last;
    last = next;
  }
  return at(last, b.length) <= most;
}

const at = (row: readonly number[], column: number) => row[column] ?? Number.POSITIVE_INFINITY;
