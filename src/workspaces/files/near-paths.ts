import { didYouMean } from '#libs/did-you-mean/index.js';
import { quotePath, type WorkspaceFs, WorkspaceFsError, workspacePath } from '#libs/workspace-fs/index.js';

/** How long a whole workspace is looked through for a name. */
const MAX_LOOK_MS = 250;
const MAX_NAMED = 3;
/** Of a folder, how many names are compared, and how many are told. */
const MAX_COMPARED = 2000;
const MAX_TOLD = 20;

/**
 * Runs work; where a path of it is not there, or a folder, the refusal says what is there instead. `asked` is the path that
 * was asked for, where that is known: the refusal may name a folder above it.
 */
export async function teaching<T>(files: WorkspaceFs, work: () => Promise<T>, asked?: string): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof WorkspaceFsError)) throw error;
    const hint = await hintFor(files, error, asked);
    if (hint === undefined) throw error;
    const { code, path, message } = error;
    throw new WorkspaceFsError(code, path, `${message}; ${hint}`, { cause: error });
  }
}

async function hintFor(
  files: WorkspaceFs,
  { code, path }: WorkspaceFsError,
  asked?: string,
): Promise<string | undefined> {
  try {
    if (code === 'is_directory' && path !== '') return await contentsOf(files, path);
    return code === 'not_found' ? await nearTo(files, wholeOf(path, asked)) : undefined;
  } catch (error) {
    // What it says is none of what was asked for.
    if (error instanceof WorkspaceFsError) return undefined;
    throw error;
  }
}

function wholeOf(path: string, asked: string | undefined): string {
  const whole = asked === undefined ? path : workspacePath(asked);
  return whole.startsWith(`${path}/`) ? whole : path;
}

async function contentsOf(files: WorkspaceFs, path: string): Promise<string> {
  const { entries, next } = await files.list(path, { limit: MAX_TOLD });
  if (entries.length === 0) return 'it is empty';
  const names = entries.map(entry => {
    const name = quotePath(entry.path.slice(path.length + 1));
    return entry.type === 'directory' ? `${name} (a folder)` : name;
  });
  return `it holds ${names.join(', ')}${next === null ? '' : ' and more'}`;
}

/** The same path but for a name that is written a little otherwise, or the same name elsewhere. */
async function nearTo(files: WorkspaceFs, path: string): Promise<string | undefined> {
  const names = path.split('/');
  for (let depth = 0; depth < names.length; depth++) {
    const [folder, name = ''] = [names.slice(0, depth).join('/'), names[depth]];
    if (await files.find(names.slice(0, depth + 1).join('/'))) continue;
    const { entries } = await files.list(folder, { limit: MAX_COMPARED });
    const own = entries.map(entry => entry.path.slice(folder === '' ? 0 : folder.length + 1));
    const wanted = name.normalize('NFC');
    const near = own.find(one => one.normalize('NFC') === wanted) ?? didYouMean(name, own);
    const meant =
      near === null ? undefined : [...names.slice(0, depth), near, ...names.slice(depth + 1)].join('/');
    if (meant !== undefined && (await files.find(meant)))
      return `did you mean ${quotePath(meant)}?${formNote(name, near)}`;
    break;
  }
  const same = await elsewhere(files, names.at(-1) ?? '');
  if (same.length === 0) return undefined;
  return same.length === 1
    ? `did you mean ${same[0]}?`
    : `there are ${same.slice(0, MAX_NAMED).join(', ')}${same.length > MAX_NAMED ? ' and more' : ''}`;
}

/** Names that look the same, and are not. */
function formNote(given: string, there: string | null): string {
  if (there === null || given === there || given.normalize('NFC') !== there.normalize('NFC')) return '';
  const form = there === there.normalize('NFC') ? 'composed (NFC)' : 'decomposed (NFD)';
  return ` It looks the same, but its letters with accents are ${form} in Unicode`;
}

async function elsewhere(files: WorkspaceFs, name: string): Promise<string[]> {
  try {
    const signal = AbortSignal.timeout(MAX_LOOK_MS);
    const options = { query: name, glob: name, case_sensitive: true, limit: MAX_NAMED + 1, signal };
    const { matches } = await files.searchNames(options);
    const same = matches.filter(match => match.path.slice(match.path.lastIndexOf('/') + 1) === name);
    return same.map(match => quotePath(match.path));
  } catch (error) {
    // It takes too long, or cannot be looked through.
    if (error instanceof WorkspaceFsError) return [];
    throw error;
  }
}
