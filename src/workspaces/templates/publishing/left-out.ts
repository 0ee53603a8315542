import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Entry, Glob, parentOf } from '#libs/workspace-fs/index.js';
import { OperationRefused } from '../../operations/index.js';

export const IGNORE_FILE = '.atelierignore';
const FOLDERS = new Set(['.git', '.atelier', '.ssh', '.aws', '.gnupg', 'node_modules']);
/** Files that hold credentials. */
const FILES = [
  '.env*',
  '.netrc',
  '.npmrc',
  '.pypirc',
  '.git-credentials',
  'id_rsa*',
  'id_ed25519*',
  'id_ecdsa*',
  '*.pem',
  '*.key',
  '*.p12',
  '*.pfx',
  '*.jks',
  '*.keystore',
];
const MAX_PATTERNS = 100;
const ENTRIES_IN_A_TURN = 500;

/** The globs of a .atelierignore: one a line, # begins a comment. Throws OperationRefused where there are too many. */
export function ignoredIn(text: string): string[] {
  const patterns = text
    .split('\n')
    .map(line => line.trim().replace(/\/$/, ''))
    .filter(line => line !== '' && !line.startsWith('#'));
  if (patterns.length <= MAX_PATTERNS) return patterns;
  throw new OperationRefused(
    `${IGNORE_FILE} has ${patterns.length} patterns; at most ${MAX_PATTERNS} are read`,
  );
}

/**
 * What becomes part of a template: nothing that the rules of all or the globs `own` leave out, nothing below it, and no
 * folder that only held such.
 *
 * @param entries parents before what is below them, as a listing has them
 */
export async function selectEntries(entries: readonly Entry[], own: readonly string[]): Promise<Entry[]> {
  const globs = [...FILES, ...own].map(pattern => new Glob(pattern));
  const foldersLeftOut = new Set<string>();
  const parents = new Set<string>();
  const kept: Entry[] = [];
  for (const [index, entry] of entries.entries()) {
    if (index % ENTRIES_IN_A_TURN === 0) await nextTurn();
    const { path, type } = entry;
    const parent = parentOf(path);
    parents.add(parent);
    const isLeftOut =
      foldersLeftOut.has(parent) ||
      FOLDERS.has(path.slice(path.lastIndexOf('/') + 1)) ||
      globs.some(glob => glob.matches(path));
    if (!isLeftOut) kept.push(entry);
    else if (type === 'directory') foldersLeftOut.add(path);
  }
  return withoutEmptied(kept, parents);
}

function withoutEmptied(kept: readonly Entry[], parents: ReadonlySet<string>): Entry[] {
  const filled = new Set<string>();
  const rest: Entry[] = [];
  for (const entry of kept.toReversed()) {
    const { path, type } = entry;
    if (type === 'directory' && parents.has(path) && !filled.has(path)) continue;
    filled.add(parentOf(path));
    rest.push(entry);
  }
  return rest.reverse();
}

/** The column by which tables of responses to forms know their rows. */
const RESPONSE_COLUMN = /(^|[,;\t])"?submission_id"?([,;\t]|$)/;
const TABLE = /\.csv$/i;
const FORM = /\.form$/i;

/**
 * What people handed in by forms is theirs, and comes along to no other workspace: tables of responses, and the folders of
 * files beside the forms. `headOf` reads the first bytes of a file.
 */
export async function splitResponses(
  entries: readonly Entry[],
  headOf: (path: string) => Promise<string>,
): Promise<{ kept: Entry[]; responses: string[] }> {
  const folders = new Set<string>();
  for (const { path, type } of entries)
    if (type === 'file' && FORM.test(path)) folders.add(path.replace(FORM, '.files'));
  const kept: Entry[] = [];
  const responses: string[] = [];
  const inside = new Set<string>();
  for (const entry of entries) {
    const { path, type } = entry;
    if (inside.has(parentOf(path))) {
      if (type === 'directory') inside.add(path);
      continue;
    }
    const isFolder = type === 'directory' && folders.has(path);
    if (isFolder) inside.add(path);
    const isTable =
      type === 'file' && TABLE.test(path) && RESPONSE_COLUMN.test(firstLine(await headOf(path)));
    if (isFolder || isTable) responses.push(path);
    else kept.push(entry);
  }
  return { kept, responses };
}

const firstLine = (text: string): string => text.replace(/^\uFEFF/, '').split(/\r?\n/, 1)[0] ?? '';
