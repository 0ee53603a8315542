/** Parsers of git's output for programs. */

export interface ParsedStatus {
  readonly branch: string | null;
  readonly commit: string | null;
  readonly upstream: string | null;
  readonly ahead: number;
  readonly behind: number;
  readonly staged: StatusEntry[];
  readonly changed: StatusEntry[];
  readonly untracked: string[];
  readonly conflicted: string[];
}

export interface StatusEntry {
  readonly path: string;
  readonly kind: string;
  readonly from: string | null;
}

const KINDS: Readonly<Record<string, string>> = {
  A: 'added',
  M: 'modified',
  D: 'deleted',
  R: 'renamed',
  C: 'copied',
  T: 'type_changed',
};

/** `git status --porcelain=v2 --branch -z` */
export function parseStatus(text: string): ParsedStatus {
  const head: Record<string, string> = {};
  const status = { staged: [], changed: [], untracked: [], conflicted: [] } as Pick<
    ParsedStatus,
    'staged' | 'changed' | 'untracked' | 'conflicted'
  >;
  const records = text.split('\0');
  // The last one may be cut off.
  records.pop();
  for (let at = 0; at < records.length; at++) {
    const record = records[at] ?? '';
    const [, name = '', value = ''] = /^# branch\.(\S+) (.*)$/.exec(record) ?? [];
    if (name !== '') head[name] = value;
    else if (record.startsWith('? ')) status.untracked.push(record.slice(2));
    else if (record.startsWith('u ')) status.conflicted.push(afterFields(record, 10));
    else if (record.startsWith('1 ')) addTo(status, record.slice(2, 4), afterFields(record, 8), null);
    else if (record.startsWith('2 '))
      addTo(status, record.slice(2, 4), afterFields(record, 9), records[++at] ?? null);
  }
  const [, ahead = '0', behind = '0'] = /^\+(\d+) -(\d+)$/.exec(head.ab ?? '') ?? [];
  return {
    branch: head.head === undefined || head.head === '(detached)' ? null : head.head,
    commit: head.oid === undefined || head.oid === '(initial)' ? null : head.oid,
    upstream: head.upstream ?? null,
    ahead: Number(ahead),
    behind: Number(behind),
    ...status,
  };
}

function addTo(
  { staged, changed }: Pick<ParsedStatus, 'staged' | 'changed'>,
  [inIndex = '.', inTree = '.']: string,
  path: string,
  from: string | null,
): void {
  if (inIndex !== '.') staged.push({ path, kind: KINDS[inIndex] ?? inIndex, from });
  if (inTree !== '.') changed.push({ path, kind: KINDS[inTree] ?? inTree, from: null });
}

/** What follows so many fields; it may have spaces itself. */
const afterFields = (record: string, fields: number): string => record.split(' ').slice(fields).join(' ');

export interface ParsedCommit {
  readonly sha: string;
  readonly parents: string[];
  readonly author: { readonly name: string; readonly email: string };
  readonly authored_at: string;
  readonly committed_at: string;
  readonly message: string;
}

/** Of `git log -z`. */
export const COMMIT_FORMAT = '%H%x1f%P%x1f%an%x1f%ae%x1f%at%x1f%ct%x1f%B';
const MAX_MESSAGE = 10_000;

export function parseCommits(text: string): ParsedCommit[] {
  return text
    .split('\0')
    .filter(record => record.split('\x1f').length >= 7)
    .map(record => {
      const [sha = '', parents = '', name = '', email = '', authored = '', committed = '', ...message] =
        record.split('\x1f');
      return {
        sha: sha.trim(),
        parents: parents.split(' ').filter(Boolean),
        author: { name, email },
        authored_at: timeOf(authored),
        committed_at: timeOf(committed),
        message: message.join('\x1f').trimEnd().slice(0, MAX_MESSAGE),
      };
    });
}

const LAST_SECOND = 8_640_000_000_000;
const timeOf = (seconds: string): string =>
  new Date(1000 * Math.min(Math.max(Number(seconds) || 0, 0), LAST_SECOND)).toISOString();

export interface ParsedBranch {
  readonly name: string;
  readonly is_remote: boolean;
  readonly commit: string;
  readonly upstream: string | null;
}

export const BRANCH_FORMAT = '%(refname)%1f%(objectname)%1f%(upstream:short)%1f%(symref)';

export function parseBranches(text: string): ParsedBranch[] {
  return text
    .split('\n')
    .map(line => line.split('\x1f'))
    .filter(([ref = '', , , symref]) => ref !== '' && !symref)
    .map(([ref = '', commit = '', upstream]) => {
      const is_remote = ref.startsWith('refs/remotes/');
      return {
        name: ref.replace(/^refs\/(heads|remotes\/origin)\//, ''),
        is_remote,
        commit,
        upstream: upstream || null,
      };
    });
}

export interface Heads {
  readonly branch: string | null;
  readonly commit: string | null;
  readonly refs: ReadonlyMap<string, string>;
}

/** Of {@link HEADS}. */
export function parseHeads(text: string): Heads {
  const [branch = '', commit = '', ...refs] = text.split('\n');
  return { branch: branch || null, commit: commit || null, refs: parseRefs(refs.join('\n')) };
}

/** Lines of a name and a ref. */
export function parseRefs(text: string): Map<string, string> {
  const lines = text.split('\n').map(line => /^([0-9a-f]{40,64}) (refs\/\S+)$/.exec(line));
  return new Map(lines.flatMap(found => (found ? [[found[2] ?? '', found[1] ?? ''] as const] : [])));
}

export interface Progress {
  readonly stage: string;
  readonly done: number;
  readonly total: number;
}

/** The last that git said of how far it is. */
export function parseProgress(text: string): Progress | undefined {
  const found = [
    ...text.matchAll(
      /(Counting|Compressing|Receiving|Resolving|Updating|Writing) [a-z]+:\s+\d+% \((\d+)\/(\d+)\)/g,
    ),
  ].at(-1);
  return found && { stage: found[1] ?? '', done: Number(found[2]), total: Number(found[3]) };
}
