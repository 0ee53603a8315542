import { Injectable } from '@nestjs/common';
import { ConcurrencyLimit } from '#libs/concurrency-limit/index.js';
import { newTemporaryName, parentOf } from '#libs/workspace-fs/index.js';
import type { UnitOfWork } from '../../platform/database/index.js';
import { problemOf } from '../../platform/errors/index.js';
import { Events } from '../../platform/events/index.js';
import { NamedLeases } from '../../platform/leases/index.js';
import {
  AuthorityLost,
  StandingAuthority,
  type VisibleWorkspace,
  WorkspaceFolders,
} from '../../workspaces/core/index.js';
import {
  type Operation,
  OperationRefused,
  OperationsStore,
  type OperationWork,
  type Report,
} from '../../workspaces/operations/index.js';
import { type CloneInput, gitClone, gitCloned, gitCloneFailed } from './clone-queue.js';
import { toRemote } from './git/git-network.js';
import { GitSandbox } from './git/git-sandbox.js';
import { parseProgress, parseRefs } from './git/parsed.js';
import { ENDS, FETCH_NEW, writing } from './git/scripts.js';
import { GitReposStore, type RepoRow } from './git-repos.store.js';
import { leaseName } from './repo-work.js';

const CONCURRENCY = 4;
const REPORT_MS = 500;
/** File in the folder of git that names the operation. */
const MARK = 'atelier-clone';

/** `$1` operation, `$2` where it is to be, `$3` its parent, `$4` url, `$5` branch. Names and refs come on standard input. */
const FINISH = writing(`operation=$1 path=$2 parent=$3 url=$4 branch=$5
git update-ref --stdin || exit
git config remote.origin.url "$url" && git config remote.origin.fetch '+refs/heads/*:refs/remotes/origin/*' || exit
if [ -n "$branch" ]; then
  git symbolic-ref HEAD "refs/heads/$branch" || exit
  if git rev-parse -q --verify "refs/remotes/origin/$branch" >/dev/null; then
    git symbolic-ref refs/remotes/origin/HEAD "refs/remotes/origin/$branch"
    git reset --quiet --hard "refs/remotes/origin/$branch" || exit
    git config "branch.$branch.remote" origin && git config "branch.$branch.merge" "refs/heads/$branch" || exit
  fi
fi
echo "$operation" >.git/${MARK}
here=$PWD
cd ..
[ -z "$parent" ] || mkdir -p -- "$parent" || exit
[ ! -e "$path" ] && [ ! -L "$path" ] || exit ${ENDS.taken}
mv --no-target-directory --no-clobber -- "$here" "$path"
[ ! -e "$here" ] || exit ${ENDS.taken}`);

/** Succeeds if an earlier attempt has moved the clone to its place. */
const LOOK = `[ -f "$1/.git/${MARK}" ] && [ "$(head -c 100 "$1/.git/${MARK}")" = "$2" ]`;

type Clone = Operation<CloneInput>;

/**
 * Clones repositories: aside, under a name that nobody sees, and moved to its place when it is whole. What a process that died has left
 * is removed with its temporary files; another begins anew.
 */
@Injectable()
export class RepoClone implements OperationWork<CloneInput> {
  readonly kind = gitClone;
  private readonly limit = new ConcurrencyLimit(CONCURRENCY);

  constructor(
    private readonly repos: GitReposStore,
    private readonly git: GitSandbox,
    private readonly folders: WorkspaceFolders,
    private readonly authority: StandingAuthority,
    private readonly operations: OperationsStore,
    private readonly leases: NamedLeases,
    private readonly events: Events,
  ) {}

  async perform(operation: Clone, report: Report, signal: AbortSignal) {
    const whose = [operation.organization_id, operation.actor_id];
    const { repo_id } = operation.input;
    const work = () =>
      this.leases.hold(leaseName(repo_id), lease =>
        this.clone(operation, report, AbortSignal.any([signal, lease.signal])),
      );
    await this.limit.run(work, { whose, signal });
    return { workspace_id: operation.subject_id };
  }

  async complete(unit: UnitOfWork, { id, input: { repo_id } }: Clone): Promise<void> {
    await this.repos.settle(unit, repo_id, id, { state: 'ready', reason: null });
    await this.events.publish(unit, gitCloned, { operation_id: id });
  }

  async undo(unit: UnitOfWork, { id, input: { repo_id } }: Clone): Promise<void> {
    const ended = await this.operations.find(id, unit);
    const reason = ended?.error ?? 'It was cancelled';
    await this.repos.settle(unit, repo_id, id, { state: 'error', reason });
    if (ended?.state === 'error') await this.events.publish(unit, gitCloneFailed, { operation_id: id });
  }

  private async clone(operation: Clone, report: Report, signal: AbortSignal): Promise<void> {
    const { repo_id, actor } = operation.input;
    const row = await this.repos.find(repo_id);
    if (!row) throw new OperationRefused('The repository was removed meanwhile');
    await report({ done: 0 });
    await this.asRefusal(async () => {
      const workspace = await this.authority.require(actor, row.workspace_id, 'git.write');
      if (await this.isDone(workspace, operation, row)) return;
      const files = this.folders.open(workspace);
      const aside = newTemporaryName();
      try {
        await this.git.recorded(workspace, repo_id, signal, until =>
          this.into(aside, workspace, operation, { row, report, signal: until }),
        );
        if ((await files.find(row.path))?.type !== 'directory')
          throw new OperationRefused(`${row.path} leads out of the workspace; choose another path`);
      } finally {
        // What stays is removed with the temporary files of this process.
        await this.git.write(workspace, actor, 'rm -rf -- "$1"', { args: [aside] }).catch(() => undefined);
      }
    });
  }

  private async into(
    aside: string,
    workspace: VisibleWorkspace,
    { id, input: { actor } }: Clone,
    { row, report, signal }: { row: RepoRow; report: Report; signal: AbortSignal },
  ): Promise<void> {
    const remote = toRemote(row);
    const { path, depth, branch } = row;
    const progress = new Reports(report, signal);
    const fetched = await this.git
      .net(workspace, actor, remote, FETCH_NEW, {
        args: [aside, remote.url.href, depth === null ? '' : String(depth), branch ?? ''],
        signal: progress.signal,
        onOutput: ({ text }) => progress.note(text),
      })
      .finally(() => progress.end());
    const [found = ''] = fetched.stdout.split('\n', 1);
    const refs = parseRefs(fetched.stdout);
    if (branch !== null && !refs.has(`refs/remotes/origin/${branch}`))
      throw new OperationRefused(`The remote has no branch ${branch}`);
    const lines = [...refs].map(([ref, sha]) => `create ${ref} ${sha}\n`);
    const end = await this.git.write(workspace, actor, FINISH, {
      args: [aside, id, path, parentOf(path), remote.url.href, found],
      stdin: lines.join(''),
      signal,
      mayFail: false,
    });
    if (end.code === ENDS.taken) throw new OperationRefused(`There is something at ${path} already`);
    await this.repos.change(row.id, { branch: found || null });
  }

  private async isDone(
    workspace: VisibleWorkspace,
    { id, input }: Clone,
    { path }: RepoRow,
  ): Promise<boolean> {
    const end = await this.git.read(workspace, input.actor, LOOK, { args: [path, id], mayFail: true });
    return end.code === 0;
  }

  /** Client errors end the operation; others are tried again. */
  private async asRefusal(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (error instanceof AuthorityLost) throw new OperationRefused(error.message);
      const problem = problemOf(error);
      if (problem && problem.status < 500) throw new OperationRefused(problem.detail);
      throw error;
    }
  }
}

/** Passes on how far git is, now and then; ends git where the operation is cancelled. */
class Reports {
  private readonly cancelled = new AbortController();
  private last = 0;
  private sending: Promise<void> = Promise.resolve();
  private failure: unknown;

  constructor(
    private readonly report: Report,
    private readonly outer: AbortSignal,
  ) {}

  get signal(): AbortSignal {
    return AbortSignal.any([this.outer, this.cancelled.signal]);
  }

  note(text: string): void {
    const progress = parseProgress(text);
    if (!progress || Date.now() - this.last < REPORT_MS) return;
    this.last = Date.now();
    const { done, total } = progress;
    this.sending = this.sending
      .then(() => this.report({ done, total }))
      .catch((error: unknown) => {
        this.failure ??= error;
        this.cancelled.abort();
      });
  }

  async end(): Promise<void> {
    await this.sending;
    if (this.failure !== undefined) throw this.failure;
  }
}
