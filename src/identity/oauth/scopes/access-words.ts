import { READ_SCOPES } from '../../../platform/access/index.js';
import { SCOPE_WORDS } from './scope-words.js';
import { expandScopes, isAdministration, isRead } from './scopes.js';

/** Things that an application could do, under what they have in common. */
export interface AccessGroup {
  readonly title: string;
  readonly items: readonly string[];
  /** What others could come to harm by. */
  readonly isGrave: boolean;
}

/** How much an application may do, for the person who is asked. */
export interface AccessWords {
  readonly title: string;
  /** All of it in one line. */
  readonly hint: string;
  /** All of it in full, the strongest first. */
  readonly groups: readonly AccessGroup[];
}

/** In the place of a line for each scope that only reads. */
export const SEE_ALL =
  'See all that you can see: files, chats, runs, people, shares, costs, records, and keys without their secrets';

interface Parts {
  readonly administration: readonly string[];
  readonly changing: readonly string[];
  readonly reading: readonly string[];
  readonly exposing: readonly string[];
}

/** `exposing` is what of it opens something to others, in words. */
export function accessWords(asked: readonly string[], exposing: readonly string[]): AccessWords {
  const scopes = expandScopes(asked);
  const strongestFirst = Object.keys(SCOPE_WORDS).filter(scope => scopes.includes(scope));
  const rest = strongestFirst.filter(scope => !isAdministration(scope));
  const parts: Parts = {
    administration: strongestFirst.filter(isAdministration),
    changing: rest.filter(scope => !isRead(scope)),
    reading: rest.filter(isRead),
    exposing,
  };
  return { title: titleOf(parts), hint: hintOf(parts), groups: groupsOf(parts) };
}

function titleOf({ administration, changing, reading }: Parts): string {
  if (administration.length === 0 && changing.length === 0) return 'Only look';
  const verbs = [
    administration.length > 0 ? 'administer' : '',
    changing.length > 0 ? 'change' : '',
    reading.length > 0 ? 'look' : '',
  ].filter(Boolean);
  const text = listed(verbs);
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function hintOf({ administration, changing, reading, exposing }: Parts): string {
  if (administration.length === 0 && changing.length === 0)
    return reading.length > 0 ? 'It changes nothing.' : 'It sees nothing and changes nothing.';
  const sentences = [
    administration.length > 0
      ? 'It administers: accounts, people, organizations or what is paid, as listed.'
      : 'It administers nothing: no accounts, keys, members, organizations or budgets.',
    changing.length > 0 ? 'It changes or runs what is listed.' : 'It changes nothing else.',
    exposing.length > 0 ? 'Before it opens something to others, or grants rights, it has to ask you.' : '',
    reading.length > 0 ? '' : 'It sees nothing beyond that.',
  ];
  return sentences.filter(Boolean).join(' ');
}

function groupsOf({ administration, changing, reading, exposing }: Parts): AccessGroup[] {
  const seesAll = READ_SCOPES.every(scope => reading.includes(scope));
  return [
    { title: 'Administer', items: words(administration), isGrave: true },
    { title: 'Open to others or grant rights, each time after asking you', items: exposing, isGrave: true },
    { title: 'Change and run', items: words(changing), isGrave: false },
    { title: 'Look', items: seesAll ? [SEE_ALL] : words(reading), isGrave: false },
  ].filter(({ items }) => items.length > 0);
}

const words = (scopes: readonly string[]): string[] => scopes.map(scope => SCOPE_WORDS[scope] ?? scope);

const listed = (items: readonly string[]): string =>
  items.length < 2 ? items.join('') : `${items.slice(0, -1).join(', ')} and ${items.at(-1)}`;
