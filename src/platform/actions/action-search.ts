import MiniSearch from 'minisearch';
import { stemmer } from 'stemmer';
import { fieldsOf } from '../dto/index.js';
import type { CatalogAction } from './catalog-action.js';
import { EVERYDAY_WORDS } from './everyday-words.js';

/** Words that say nothing about which action is meant. */
const FILLERS = new Set(
  'a all am an and any as at be by can could do does for from had has have how i if in into is it its just let like me my of on or our please so some something than that the their them then there they this to us want was we were what when where which will with would you your'.split(
    ' ',
  ),
);

const MAX_WORDS = 50;

/** How much a match in each part of an action counts. `called` and `about` are everyday words for its name and summary. */
const WEIGHTS = { name: 3, summary: 2, called: 2, about: 1, description: 0.5, fields: 0.5 };

const EVERYDAY_BY_STEM = new Map([...EVERYDAY_WORDS].map(([word, everyday]) => [stemmer(word), everyday]));

/** Finds actions by words: those that they declare (name, summary, description, fields), and everyday words for these. */
export class ActionSearch {
  private readonly actions: ReadonlyMap<string, CatalogAction>;
  private readonly index = new MiniSearch({
    fields: Object.keys(WEIGHTS),
    tokenize: wordsOf,
    processTerm: word => (FILLERS.has(word) ? null : stemmer(word)),
    searchOptions: {
      boost: WEIGHTS,
      prefix: word => word.length > 2,
      fuzzy: word => (word.length > 3 ? 0.2 : false),
      weights: { prefix: 0.3, fuzzy: 0.2 },
    },
  });

  constructor(actions: readonly CatalogAction[]) {
    this.actions = new Map(actions.map(action => [action.name, action]));
    this.index.addAll(actions.map(documentOf));
  }

  /** The actions that fit, best first. */
  find(question: string): CatalogAction[] {
    const words = wordsOf(question).slice(0, MAX_WORDS).join(' ');
    return this.index.search(words).flatMap(({ id }) => this.actions.get(id) ?? []);
  }
}

function documentOf({ name, title, declaration }: CatalogAction) {
  const { summary, description, input } = declaration;
  const nameWords = [...new Set(wordsOf(`${name} ${title}`))].join(' ');
  const fields = [...(input ? fieldsOf(input) : [])].map(([field, spec]) => `${field} ${spec.description}`);
  return {
    id: name,
    name: nameWords,
    summary,
    description,
    called: everydayWordsFor(nameWords),
    about: everydayWordsFor(summary),
    fields: fields.join(' '),
  };
}

function everydayWordsFor(text: string): string {
  const everyday = wordsOf(text).flatMap(word => EVERYDAY_BY_STEM.get(stemmer(word)) ?? []);
  return [...new Set(everyday)].join(' ');
}

/** Letters and digits in a row; an underscore or an apostrophe with what follows it ends a word. */
function wordsOf(text: string): string[] {
  return (
    text
      .toLowerCase()
      .replace(/['’]s\b/g, '')
      .match(/[\p{L}\p{N}]+/gu) ?? []
  );
}
