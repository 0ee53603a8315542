import MiniSearch from 'minisearch';
import { stemmer } from 'stemmer';
import { fieldsOf } from '#libs/fields/index.js';
import type { CatalogAction } from './catalog-action.js';

/**
 * What people say for the words that names and summaries of actions use. One line a word of the catalog, with the
 * everyday words that also find it. Words in general only: never a whole wish, never the name of an action.
 */
const LINES = `
  accept: join take
  account: user profile me myself
  agent: assistant bot ai
  approval: permission ask asking confirmation approve
  audit: log activity recently happened did trail
  automation: automate schedule scheduled cron recurring regularly daily weekly every webhook workflow
  billing: money cost bill invoice plan price pay
  change: update edit modify set give turn
  chat: conversation thread talk discussion
  compare: diff difference changed
  copy: duplicate clone
  create: make add new start begin generate set up open
  decide: approve allow accept reject deny refuse permit confirm
  delete: remove erase destroy throw away trash discard get rid
  describe: show size info details
  duplicate: copy clone fork
  earlier: old previous
  edit: change modify replace fix
  egress: internet network web online access outgoing firewall allow block
  end: stop kill terminate close
  exposure: public outside internet leaked people anyone visible
  extract: unzip untar unpack decompress
  features: turn on off enable disable switch
  file: document page text
  folder: directory
  grant: app application connected access
  history: versions earlier previous old changed recently log
  invite: add join
  key: token secret credential
  leave: quit exit
  list: show see all view browse
  make: create add new
  member: someone somebody people person user colleague teammate team staff
  mkdir: folder directory create new
  model: llm ai
  move: rename put
  organization: company team
  person: someone somebody people user colleague teammate
  policy: rules permission ask asking without
  principal: me myself whoami am identity logged
  promote: publish live deploy release launch
  queue: waiting pending
  read: show get view see look open print
  remove: delete kick throw out take away fire expel
  rename: change name call
  restore: undo revert recover bring back
  revoke: cancel withdraw remove delete end stop disable invalidate throw away take back
  role: admin administrator rights permissions owner
  rollback: undo revert restore reset back did
  rotate: replace renew exchange leaked compromised
  run: agent job task work working doing
  sandbox: shell terminal command process container
  search: find grep look locate where
  send: ask tell talk message write prompt chat
  service: bot robot machine
  set: change update give limit
  share: publish public publicly expose outside anyone
  site: website web page homepage
  somebody: someone people person user colleague teammate friend
  spend: money cost limit
  stop: cancel abort halt interrupt kill end pause
  tool: capabilities
  transfer: hand give over pass ownership
  update: change edit set modify alter adjust
  usage: tokens used much disk storage quota
  version: earlier previous old revision
  visibility: private public hidden visible restricted
  withdraw: cancel revoke remove delete take back
  workspace: project space
  write: save upload put store create add
`;

/** Everyday words by the word of the catalog that they stand for. */
export const EVERYDAY_WORDS: ReadonlyMap<string, readonly string[]> = new Map(
  LINES.trim()
    .split('\n')
    .map((line): [string, string[]] => {
      const [word = '', everyday = ''] = line.trim().split(': ');
      return [word, everyday.split(' ')];
    }),
);

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
