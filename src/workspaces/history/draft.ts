import type { Content, UNKEPT } from '#libs/git-history/index.js';
import type { LoggedChange } from '../changes/index.js';

/**
 * Folders that have no history, wherever they are: what other programs keep or make again by themselves. Files that
 * `.gitignore` names do have one: a `.env` or a build is what one may want back.
 */
const SKIPPED = new Set([
  '.git',
  '.hg',
  '.svn',
  'node_modules',
  '__pycache__',
  '.venv',
  '.mypy_cache',
  '.pytest_cache',
  '.ruff_cache',
]);

export function isSkipped(path: string): boolean {
  return path.split('/').some(name => SKIPPED.has(name));
}

export const VERSION_KINDS = ['found', 'created', 'modified', 'deleted', 'moved'] as const;

/** A version to be added. */
export interface Draft {
  readonly path: string;
  readonly kind: (typeof VERSION_KINDS)[number];
  readonly from: string | null;
  readonly size: number | null;
  readonly etag: string | null;
  readonly changedAt: string;
  /** The change that made it; null: it was there before there was a history. */
  readonly change: LoggedChange | null;
  content: Content | undefined;
}

export type Head = Pick<VersionRow, 'id' | 'path' | 'kind' | 'etag' | 'blob' | 'executable'>;

export interface VersionRow {
  seq: string;
  id: string;
  workspace_id: string;
  path: string;
  kind: Draft['kind'];
  from_path: string | null;
  size: string | null;
  etag: string | null;
  executable: boolean;
  blob: string | null;
  unkept: (typeof UNKEPT)[number] | null;
  replaced: boolean;
  previous_id: string | null;
  writer_type: LoggedChange['writer_type'] | null;
  writer_id: string | null;
  run_id: string | null;
  changed_at: string;
}

const GONE: Content = { unkept: 'deleted' };

/** The versions that changes make, in their order. Folders, links and skipped places have none. */
export function draftsOf(changes: readonly LoggedChange[], heads: ReadonlyMap<string, Head>): Draft[] {
  const live = new Set([...heads.values()].flatMap(({ path, kind }) => (kind === 'deleted' ? [] : [path])));
  return changes.flatMap(change => {
    const left = change.kind === 'moved' ? change.from_path : change.kind === 'deleted' ? change.path : null;
    const drafts: Draft[] = left !== null && live.delete(left) ? [deletion(left, change)] : [];
    const { path, kind, etag, size } = change;
    if (kind === 'deleted' || etag === null || isSkipped(path)) return drafts;
    live.add(path);
    const from = kind === 'moved' ? change.from_path : null;
    const fields = { path, kind, from, etag, size: Number(size), changedAt: change.changed_at, change };
    return [...drafts, { ...fields, content: undefined }];
  });
}

function deletion(path: string, change: LoggedChange): Draft {
  return {
    path,
    kind: 'deleted',
    from: null,
    size: null,
    etag: null,
    changedAt: change.changed_at,
    change,
    content: GONE,
  };
}
