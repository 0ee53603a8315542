import { Injectable } from '@nestjs/common';
import { normalizePath } from '#libs/workspace-fs/index.js';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { ById, DEFAULT_LIMIT, decodeCursor, encodeCursor, type Page } from '../../platform/dto/index.js';
import { GitSandbox } from './git/git-sandbox.js';
import {
  BRANCH_FORMAT,
  COMMIT_FORMAT,
  parseBranches,
  parseCommits,
  parseStatus,
  type StatusEntry,
} from './git/parsed.js';
import { reading } from './git/scripts.js';
import {
  DiffGitRepo,
  GitBranchListView,
  GitCommitPage,
  GitCommitView,
  GitDiffView,
  GitStatusView,
  ListCommits,
} from './git-repos.dto.js';
import { RepoWork } from './repo-work.js';

const MAX_FILES = 1000;
const MAX_BRANCHES = 2000;
const DIFF_BYTES = 1024 * 1024;
const MISSING = { 409: 'It is not cloned, or its folder has no repository any more' };

const STATUS = reading(
  'exec git status --porcelain=v2 --branch -z --untracked-files=normal --ignore-submodules=all',
);
const LOG = reading(
  `exec git log -z --no-show-signature --no-color --format='${COMMIT_FORMAT}' --skip="$1" --max-count="$2" --end-of-options "\${3:-HEAD}" -- \${4:+"$4"}`,
);
const BRANCHES = reading(
  `git symbolic-ref -q --short HEAD || echo
exec git for-each-ref --count=${MAX_BRANCHES + 1} --format='${BRANCH_FORMAT}' refs/heads refs/remotes/origin`,
);
const DIFF = reading(
  `from=$1 to=$2 path=$3
if [ -z "$from" ]; then from=$(git rev-parse -q --verify HEAD || git hash-object -t tree /dev/null); fi
exec git diff --no-color --no-ext-diff --no-textconv --ignore-submodules=all --end-of-options "$from" \${to:+"$to"} -- \${path:+"$path"}`,
);
/** Git says so of a branch that has no commit yet. */
const NO_COMMITS =
  /does not have any commits yet|unknown revision or path not in the working tree.*|bad revision 'HEAD'/;

/** Reads repositories, in sandboxes that cannot write and have no network. */
@Injectable()
export class GitReadsService {
  constructor(
    private readonly work: RepoWork,
    private readonly git: GitSandbox,
  ) {}

  @Action('git_status_get', 'GET /api/git-repos/:id/status', {
    on: { id: 'git_repo' },
    summary: 'Tell the branch of a repository, and which files are changed, staged, unknown or in conflict',
    permission: 'git.read',
    input: ById({ id: 'The repository' }),
    output: GitStatusView,
    refuses: MISSING,
  })
  status(actor: Actor, { id }: ById): Promise<GitStatusView> {
    return this.work.read(actor, 'git.read', id, async ({ row, workspace }) => {
      const { stdout, truncated } = await this.git.read(workspace, actor, STATUS, { args: [row.path] });
      const { staged, changed, untracked, conflicted, ...head } = parseStatus(stdout);
      const isLong = [staged, changed, untracked, conflicted].some(list => list.length > MAX_FILES);
      const few = (entries: StatusEntry[]) => entries.slice(0, MAX_FILES);
      return {
        ...head,
        staged: few(staged),
        changed: few(changed),
        untracked: untracked.slice(0, MAX_FILES),
        conflicted: conflicted.slice(0, MAX_FILES),
        truncated: truncated || isLong,
      };
    });
  }

  @Action('git_commit_list', 'GET /api/git-repos/:id/commits', {
    on: { id: 'git_repo' },
    summary: 'List commits of a repository, newest first',
    permission: 'git.read',
    input: ListCommits,
    output: GitCommitPage,
    refuses: MISSING,
  })
  commits(actor: Actor, input: ListCommits): Promise<Page<GitCommitView>> {
    const { id, ref = '', limit = DEFAULT_LIMIT } = input;
    const [skip = '0'] = decodeCursor(input.cursor, 'number');
    const path = input.path === undefined ? '' : normalizePath(input.path);
    return this.work.read(actor, 'git.read', id, async ({ row, workspace }) => {
      const args = [row.path, skip, String(limit + 1), ref, path];
      const end = await this.git.read(workspace, actor, LOG, { args, mayFail: ref === '' });
      if (end.code !== 0 && NO_COMMITS.test(end.stderr)) return { items: [], next_cursor: null };
      const found = parseCommits(end.stdout);
      const isMore = found.length > limit;
      return {
        items: found.slice(0, limit),
        next_cursor: isMore ? encodeCursor([Number(skip) + limit]) : null,
      };
    });
  }

  @Action('git_repo_diff', 'GET /api/git-repos/:id/diff', {
    on: { id: 'git_repo' },
    summary: 'Compare two commits of a repository, or one with the files as they are now',
    permission: 'git.read',
    input: DiffGitRepo,
    output: GitDiffView,
    refuses: MISSING,
  })
  diff(actor: Actor, { id, from = '', to = '', path }: DiffGitRepo): Promise<GitDiffView> {
    const below = path === undefined ? '' : normalizePath(path);
    return this.work.read(actor, 'git.read', id, async ({ row, workspace }) => {
      const args = [row.path, from, to, below];
      const { stdout, truncated } = await this.git.read(workspace, actor, DIFF, {
        args,
        outputBytes: DIFF_BYTES,
      });
      return { diff: stdout, truncated };
    });
  }

  @Action('git_branch_list', 'GET /api/git-repos/:id/branches', {
    on: { id: 'git_repo' },
    summary: 'List the branches of a repository, and those of its remote as they were when it was last asked',
    permission: 'git.read',
    input: ById({ id: 'The repository' }),
    output: GitBranchListView,
    refuses: MISSING,
  })
  branches(actor: Actor, { id }: ById): Promise<GitBranchListView> {
    return this.work.read(actor, 'git.read', id, async ({ row, workspace }) => {
      const { stdout, truncated } = await this.git.read(workspace, actor, BRANCHES, { args: [row.path] });
      const [current = ''] = stdout.split('\n', 1);
      const found = parseBranches(stdout.slice(current.length + 1));
      return {
        current: current || null,
        items: found.slice(0, MAX_BRANCHES),
        truncated: truncated || found.length > MAX_BRANCHES,
      };
    });
  }
}
