import { Injectable } from '@nestjs/common';
import { normalizePath } from '#libs/workspace-fs/index.js';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { Audit } from '../../platform/audit/index.js';
import { Config } from '../../platform/config/index.js';
import { Database, dryRun } from '../../platform/database/index.js';
import {
  Conflict,
  Forbidden,
  Invalid,
  NotFound,
  type Problem,
  problemOf,
} from '../../platform/errors/index.js';
import { identityEnvironment, signed } from './authorship.js';
import { type GitEnd, toProblem } from './git/git-fault.js';
import { GitNetwork, toRemote } from './git/git-network.js';
import { GitSandbox } from './git/git-sandbox.js';
import { ENDS, reading, writing } from './git/scripts.js';
import { GitReadsService } from './git-reads.service.js';
import {
  CheckoutGitRepo,
  CommitGitRepo,
  GitBranchListView,
  GitCommittedView,
  GitPulledView,
  GitPushedView,
  PullGitRepo,
  PushGitRepo,
} from './git-repos.dto.js';
import type { SeenRepo } from './git-repos.store.js';
import { RepoWork } from './repo-work.js';

const MAX_NAMED = 20;
const NOT_READY = 'It is not cloned, or its folder has no repository any more';

const CHECKOUT = writing(`git check-ref-format --branch "$1" >/dev/null || exit ${ENDS.nothing}
if [ "$2" = create ]; then exec git switch --quiet --create "$1"; fi
exec git switch --quiet --guess "$1"`);

const CHECK_BRANCH = reading(`git check-ref-format --branch "$1" >/dev/null || exit ${ENDS.nothing}
if [ "$2" = create ]; then git show-ref --verify --quiet "refs/heads/$1" && exit ${ENDS.taken}; exit 0; fi
git show-ref --verify --quiet "refs/heads/$1" || git show-ref --verify --quiet "refs/remotes/origin/$1" || exit ${ENDS.unknown}`);

const CHECK_CHANGES = reading(`how=$1
shift
[ ! -e .git/MERGE_HEAD ] || exit 0
if [ "$how" = staged ]; then git diff --cached --quiet --ignore-submodules=all && exit ${ENDS.nothing}; exit 0; fi
[ -n "$(git status --porcelain --ignore-submodules=all -- "$@" | head -c 1)" ] || exit ${ENDS.nothing}`);

/** `$1`: paths, all or staged; then the paths. The message comes on standard input. */
const COMMIT = writing(`how=$1
shift
case $how in
  all) git add --all || exit ;;
  paths) git add --all -- "$@" || exit ;;
esac
if [ -n "$(git ls-files --unmerged)" ] && [ "$how" != all ]; then exit ${ENDS.conflict}; fi
if [ "$how" = paths ]; then
  git diff --cached --quiet --ignore-submodules=all -- "$@" && exit ${ENDS.nothing}
  git commit --quiet --no-verify --cleanup=strip --file=- --only -- "$@" || exit
else
  git diff --cached --quiet --ignore-submodules=all && [ ! -e .git/MERGE_HEAD ] && exit ${ENDS.nothing}
  git commit --quiet --no-verify --cleanup=strip --file=- || exit
fi
git rev-parse HEAD
git symbolic-ref -q --short HEAD || echo`);

/** `$1` mode, `$2` what to join, `$3` whether conflicts stay. */
const JOIN = writing(`mode=$1 other=$2 keep=$3
case $mode in
  ff) git merge --quiet --ff-only "$other" >&2 || exit ;;
  merge) git merge --quiet --no-edit --no-verify "$other" >&2; code=$? ;;
  rebase) git rebase --quiet "$other" >&2; code=$? ;;
esac
if [ "\${code:-0}" != 0 ]; then
  files=$(git diff --name-only --diff-filter=U --ignore-submodules=all | head -n 1000)
  [ -n "$files" ] || { git rebase --abort >/dev/null 2>&1 || git merge --abort >/dev/null 2>&1; exit "$code"; }
  echo "$files"
  [ "$keep" = yes ] && exit ${ENDS.conflict}
  if [ "$mode" = merge ]; then git merge --abort; else git rebase --abort; fi >&2
  exit ${ENDS.conflict}
fi
git rev-parse HEAD`);

@Injectable()
export class GitWritesService {
  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly work: RepoWork,
    private readonly git: GitSandbox,
    private readonly network: GitNetwork,
    private readonly reads: GitReadsService,
    private readonly audit: Audit,
  ) {}

  @Action('git_repo_checkout', 'POST /api/git-repos/:id/checkout', {
    on: { id: 'git_repo' },
    summary: 'Check out a branch of a repository, or make one',
    effect: 'write',
    permission: 'git.write',
    input: CheckoutGitRepo,
    output: GitBranchListView,
    evidence: 'read the status of the repository: it tells the branch',
    refuses: { 409: `Changes are in the way, or there is such a branch; ${NOT_READY}` },
  })
  async checkout(actor: Actor, { id, branch, create = false }: CheckoutGitRepo): Promise<GitBranchListView> {
    const how = [branch, create ? 'create' : ''];
    const check = this.rehearsal(actor, CHECK_BRANCH, how, end => branchFault(end, branch));
    await this.work.write(actor, 'git.write', id, check, async ({ row, workspace }, signal) => {
      const step = { args: [row.path, ...how], signal, mayFail: true };
      const end = await this.git.write(workspace, actor, CHECKOUT, step);
      const fault = branchFault(end, branch) ?? toProblem(end);
      if (fault) throw fault;
    });
    return this.reads.branches(actor, { id });
  }

  @Action('git_repo_commit', 'POST /api/git-repos/:id/commit', {
    on: { id: 'git_repo' },
    summary: 'Commit changes of a repository, in the name of the caller',
    description:
      'Hooks are not run. A run commits in the name of its person, and the message says which run it was (`Atelier-Run`).',
    effect: 'write',
    permission: 'git.write',
    input: CommitGitRepo,
    output: GitCommittedView,
    evidence: 'read its commits: the first has the message',
    refuses: { 409: `There is nothing to commit, or there are conflicts; ${NOT_READY}` },
  })
  commit(actor: Actor, { id, message, paths, all = false }: CommitGitRepo): Promise<GitCommittedView> {
    if (paths && all) throw new Invalid('paths and all must not be given together');
    const which = paths?.map(path => normalizePath(path));
    if (which?.includes('')) throw new Invalid('paths must name files or folders; for everything, say all');
    const { host } = this;
    const how = all ? 'all' : which && which.length > 0 ? 'paths' : 'staged';
    const check = this.rehearsal(actor, CHECK_CHANGES, [how, ...(which ?? [])], end =>
      nothingFault(end, how),
    );
    return this.work.write(actor, 'git.write', id, check, async ({ row, workspace }, signal) => {
      const end = await this.git.write(workspace, actor, COMMIT, {
        args: [row.path, how, ...(which ?? [])],
        stdin: signed(message, actor, host),
        env: identityEnvironment(actor, host),
        signal,
        mayFail: true,
      });
      const none = nothingFault(end, how);
      if (none) throw none;
      if (end.code === ENDS.conflict)
        throw new Conflict('Files are in conflict; solve them, then commit with all');
      const fault = toProblem(end);
      if (fault) throw fault;
      const [commit = '', branch = ''] = end.stdout.split('\n');
      return { commit, branch: branch || null };
    });
  }

  @Action('git_repo_pull', 'POST /api/git-repos/:id/pull', {
    on: { id: 'git_repo' },
    summary: 'Get the commits of the remote, and join them to the branch that is checked out',
    effect: 'write',
    permission: 'git.write',
    input: PullGitRepo,
    output: GitPulledView,
    evidence: 'read the status of the repository: `behind` is 0; pulling again changes nothing',
    refuses: {
      403: 'The connection may not be used by the caller, or not for this repository',
      409: `Conflicts, whose files it names (nothing was changed), or no common way; ${NOT_READY}`,
      503: 'The server cannot be reached',
    },
  })
  pull(actor: Actor, { id, mode = 'ff', keep_conflicts = false }: PullGitRepo): Promise<GitPulledView> {
    if (keep_conflicts && mode !== 'merge') throw new Invalid('keep_conflicts is for mode merge');
    return this.work.write(actor, 'git.write', id, this.reachable(actor), async (repo, signal) => {
      const { row, workspace } = repo;
      const heads = await this.network.heads(workspace, actor, row);
      if (heads.branch === null) throw new Conflict('No branch is checked out; check one out first');
      await this.network.fetch(workspace, actor, row, heads, signal);
      const other = `refs/remotes/origin/${heads.branch}`;
      const now = await this.network.heads(workspace, actor, row);
      if (!now.refs.has(other)) throw new NotFound(`The remote has no branch ${heads.branch}; push it first`);
      const end = await this.git.write(workspace, actor, JOIN, {
        args: [row.path, mode, other, keep_conflicts ? 'yes' : ''],
        env: identityEnvironment(actor, this.host),
        signal,
        mayFail: true,
      });
      if (end.code === ENDS.conflict) {
        const conflicted = end.stdout.split('\n').filter(Boolean);
        if (!keep_conflicts) throw conflict(conflicted);
        return { commit: heads.commit, updated: false, conflicted };
      }
      if (/not possible to fast-forward|diverging branches/i.test(end.stderr))
        throw new Conflict('Both have commits that the other lacks: pull with mode merge or rebase');
      if (/refusing to merge unrelated histories/.test(end.stderr))
        throw new Conflict('The remote has another history, which has nothing in common with this one');
      const fault = toProblem(end);
      if (fault) throw fault;
      await this.work.noteSync(id, 'last_pull_at');
      const commit = end.stdout.trim();
      return { commit, updated: commit !== heads.commit, conflicted: [] };
    });
  }

  @Action('git_repo_push', 'POST /api/git-repos/:id/push', {
    on: { id: 'git_repo' },
    summary: 'Send the commits of a branch to the remote',
    consequence:
      'Everyone who reads the repository there can read these commits, and what builds on it uses them.',
    permission: 'git.push',
    input: PushGitRepo,
    output: GitPushedView,
    evidence: 'read the status of the repository: `ahead` is 0; pushing again changes nothing',
    refuses: {
      403: 'The connection may not be used by the caller, or not for this repository',
      409: `The remote has other commits, or refuses these, and why; ${NOT_READY}`,
      503: 'The server cannot be reached',
    },
  })
  push(actor: Actor, { id, branch, force_with_lease = false }: PushGitRepo): Promise<GitPushedView> {
    return this.work.write(actor, 'git.push', id, this.reachable(actor, 'write'), async (repo, signal) => {
      const { row, workspace } = repo;
      const heads = await this.network.heads(workspace, actor, row);
      const name = branch ?? heads.branch;
      if (name === null) throw new Conflict('No branch is checked out; name one');
      const commit = heads.refs.get(`refs/heads/${name}`);
      if (commit === undefined) throw new NotFound(`There is no branch ${name} with a commit here`);
      const known = heads.refs.get(`refs/remotes/origin/${name}`) ?? '';
      await this.noteIntent(actor, repo, { branch: name, commit, force_with_lease });
      const lease = force_with_lease ? known : null;
      const updated = await this.network.push(workspace, actor, row, { branch: name, commit, lease }, signal);
      await this.work.noteSync(id, 'last_push_at');
      return { branch: name, commit, updated };
    });
  }

  /** Recorded before the push: what was sent cannot be taken back. */
  private noteIntent(actor: Actor, { row, workspace }: SeenRepo, details: object): Promise<void> {
    const { id: workspace_id, organization_id } = workspace;
    const target = { type: 'git_repo', id: row.id, organization_id, workspace_id };
    const { url, path } = row;
    return this.database.transaction(unit =>
      this.audit.record(unit, actor, 'git_repo.push', target, { url, path, ...details }),
    );
  }

  /** A dry run is told what the action would be: it looks, where nothing can be written. */
  private rehearsal(
    actor: Actor,
    script: string,
    args: readonly string[],
    faultAt: (end: GitEnd) => Problem | undefined,
  ) {
    return async ({ row, workspace }: SeenRepo): Promise<void> => {
      if (!dryRun()) return;
      const end = await this.git.read(workspace, actor, script, { args: [row.path, ...args], mayFail: true });
      const fault = faultAt(end) ?? toProblem(end);
      if (fault) throw fault;
    };
  }

  private reachable(actor: Actor, level: 'read' | 'write' = 'read') {
    return async ({ row, workspace }: SeenRepo): Promise<void> => {
      try {
        await this.git.requireReachable(workspace, actor, toRemote(row, level));
      } catch (error) {
        if (problemOf(error)?.status !== 404) throw error;
        throw new Forbidden(
          'Its remote gets the personal connection of another, who alone may use it; name another connection with PATCH',
        );
      }
    };
  }

  private get host(): string {
    return new URL(this.config.baseUrl).hostname;
  }
}

function branchFault({ code, stderr }: GitEnd, branch: string): Problem | undefined {
  if (code === ENDS.nothing) return new Invalid('branch must be the name of a branch');
  if (code === ENDS.taken || /already exists/.test(stderr))
    return new Conflict(`There is a branch ${branch} already`);
  if (code === ENDS.unknown || /invalid reference/.test(stderr))
    return new NotFound(`There is no branch ${branch}, here or at the remote`);
  return undefined;
}

function nothingFault({ code }: GitEnd, how: string): Problem | undefined {
  if (code !== ENDS.nothing) return undefined;
  return new Conflict(
    how === 'staged'
      ? 'There is nothing staged; name paths, or say all'
      : 'There is nothing to commit: the files are as they were',
  );
}

function conflict(files: readonly string[]): Conflict {
  const named = files.slice(0, MAX_NAMED).join(', ');
  const more = files.length > MAX_NAMED ? ` and ${files.length - MAX_NAMED} more` : '';
  return new Conflict(
    `Both have changed ${named}${more}. Nothing was changed here: pull with mode merge and keep_conflicts to solve it, or change these files first`,
  );
}
