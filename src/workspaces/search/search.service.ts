import { Injectable } from '@nestjs/common';
import { ConcurrencyLimit } from '#libs/concurrency-limit/index.js';
import { PatternError, SEEN_AT, type WorkspaceFs, workspacePath } from '#libs/workspace-fs/index.js';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { DEFAULT_LIMIT, decodeCursor, encodeCursor } from '../../platform/dto/index.js';
import { Invalid, translateErrors } from '../../platform/errors/index.js';
import { type VisibleWorkspace, WorkspaceFolders, WorkspacesStore } from '../core/index.js';
import { TreeScan } from '../files/index.js';
import { FindingPage, type FindingView, SearchWorkspace } from './search.dto.js';
import { textOf } from './search-text.js';

translateErrors(PatternError, error => new Invalid(error.message));

/** Concurrent searches. */
const MAX_OF_WORKSPACE = 8;
const MAX_IN_PROCESS = 16;
/** Files that are searched in the order of their times. */
const MAX_NEWEST = 50_000;

/** Nothing is indexed: files are read as they are now. */
@Injectable()
export class SearchService {
  private readonly ofWorkspace = new ConcurrencyLimit(MAX_OF_WORKSPACE, 'searches run in this workspace');
  private readonly inProcess = new ConcurrencyLimit(MAX_IN_PROCESS);

  constructor(
    private readonly workspaces: WorkspacesStore,
    private readonly folders: WorkspaceFolders,
    private readonly scan: TreeScan,
  ) {}

  @Action('workspace_search', {
    summary: 'Search the files of a workspace by content or name',
    permission: 'file.read',
    input: SearchWorkspace,
    output: FindingPage,
    tool: {
      name: 'search_files',
      title: 'Search in files',
      description:
        'Find text in the files of a workspace, or files by name. Leaves out what .gitignore does. ' +
        'context shows lines around each match; files_only the files, with how many of their lines match.',
      renamed: { query: 'q' },
      agents: {
        text: textOf,
        defaults: { limit: 100 },
        brief:
          'Find lines in files (also takes case_sensitive, ignored for what .gitignore leaves out, sort=newest, limit).',
        told: {
          query: '',
          path: '',
          glob: '',
          regex: '',
          context: 'Lines around each match',
          files_only: 'Files with counts',
        },
      },
    },
    cancellable: true,
    refuses: { 404: 'No such workspace or path', 409: 'The path is a link' },
  })
  async search(actor: Actor, input: SearchWorkspace, signal?: AbortSignal): Promise<FindingPage> {
    const [afterPath, afterLine] = decodeCursor(input.cursor, 'text', 'number');
    const after = afterPath === undefined ? undefined : { path: afterPath, line: Number(afterLine) };
    const workspace = await this.workspaces.require(actor, 'file.read', input.workspace_id);
    const place = { workspace, path: workspacePath(input.path ?? ''), after, signal };
    const {
      items,
      more,
      leftOut = [],
    } = await this.inTurn(actor, place, () =>
      input.in === 'names' ? this.names(input, place) : this.content(input, place),
    );
    const last = items.at(-1);
    const next_cursor = more && last ? encodeCursor([last.path, last.line ?? 0]) : null;
    return { items, next_cursor, ...(leftOut.length > 0 ? { left_out: leftOut } : {}) };
  }

  private inTurn(actor: Actor, { workspace, signal }: Place, work: () => Promise<Found>): Promise<Found> {
    const whose = [workspace.organization_id, actor.id];
    const turn = () => this.inProcess.run(work, { whose, signal });
    return this.ofWorkspace.run(turn, { key: workspace.id, signal });
  }

  private async content(input: SearchWorkspace, { workspace, path, after, signal }: Place): Promise<Found> {
    const { q, limit = DEFAULT_LIMIT, context, files_only: filesOnly } = input;
    const files = this.folders.open(workspace);
    const scanned = (await isFolder(files, path))
      ? await this.scan.filesWith(workspace, { ...input, path, signal })
      : null;
    const options = { ...optionsOf(input), path, query: q, limit, after, context, filesOnly, signal };
    const isSorted = input.sort === 'newest';
    const newest =
      isSorted && (await this.newestFirst(input, { workspace, path, signal }, scanned?.candidates));
    const among = newest ? { candidates: newest, inOrder: true, after: undefined } : {};
    const { matches, more, left_out: leftOut } = await files.search({ ...options, ...scanned, ...among });
    // After a line, in the order of times, comes what nobody can tell any more.
    return { items: matches, more: more && !isSorted, leftOut };
  }

  /** Files below a folder, the last changed first, of those that may hold a match; undefined for a single file. */
  private async newestFirst(
    input: SearchWorkspace,
    { workspace, path, signal }: Pick<Place, 'workspace' | 'path' | 'signal'>,
    candidates: readonly string[] | undefined,
  ): Promise<string[] | undefined> {
    const files = this.folders.open(workspace);
    if (!(await isFolder(files, path))) return undefined;
    const { glob, ignored } = input;
    const scanned = (await this.scan.everything(workspace, { path, ignored, signal })) ?? {};
    const kind = { type: 'file', sort: 'newest', limit: MAX_NEWEST } as const;
    const { paths } = await files.findBelow({ path, glob, ignored, signal, ...kind, ...scanned });
    const holding = candidates && new Set(candidates);
    return holding ? paths.filter(file => holding.has(file)) : paths;
  }

  private async names(input: SearchWorkspace, { workspace, path, after, signal }: Place): Promise<Found> {
    const { q, limit = DEFAULT_LIMIT } = input;
    const files = this.folders.open(workspace);
    const scanned = (await isFolder(files, path))
      ? await this.scan.everything(workspace, { ...input, path, signal })
      : null;
    const query = q.startsWith(`${SEEN_AT}/`) ? q.slice(SEEN_AT.length + 1) : q;
    const options = { ...optionsOf(input), path, query, limit, after: after?.path, signal };
    const { seen: candidates, ignoreFiles } = scanned ?? {};
    const { matches, more } = await files.searchNames({ ...options, candidates, ignoreFiles });
    return { items: matches.map(({ path, ranges }) => ({ path, line: null, excerpt: path, ranges })), more };
  }
}

interface Place {
  workspace: VisibleWorkspace;
  path: string;
  after: { path: string; line: number } | undefined;
  signal: AbortSignal | undefined;
}

interface Found {
  items: FindingView[];
  more: boolean;
  leftOut?: string[];
}

const optionsOf = ({ regex, glob, case_sensitive, ignored }: SearchWorkspace) => ({
  regex,
  glob,
  case_sensitive,
  ignored,
});

async function isFolder(files: WorkspaceFs, path: string): Promise<boolean> {
  return path === '' || (await files.stat(path)).type === 'directory';
}
