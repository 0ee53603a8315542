import { Injectable } from '@nestjs/common';
import type { Actor } from '../../../platform/access/index.js';
import type { Row } from '../../../platform/database/index.js';
import { Conflict } from '../../../platform/errors/index.js';
import type { VisibleWorkspace } from '../../../workspaces/core/index.js';
import { lastLine, toProblem } from './git-fault.js';
import { GitSandbox, type Remote } from './git-sandbox.js';
import { type Heads, parseHeads, parseRefs } from './parsed.js';
import { remoteUrl } from './remote-url.js';
import { FETCH_ALL, HEADS, PUSH, reading, writing } from './scripts.js';

type RepoRow = Row<'git_repo'>;

/** Commits that the remote is told of, so that it sends no more than is missing. */
const MAX_HAVES = 1000;
const EVERYTHING = '+refs/heads/*:refs/remotes/origin/*';
const UPDATE_REFS = writing('exec git update-ref --stdin');
const FOLLOW = writing(`git config "branch.$1.remote" >/dev/null && exit 0
git config "branch.$1.remote" origin && git config "branch.$1.merge" "refs/heads/$1"`);

export const toRemote = (
  { url, connection_id }: Pick<RepoRow, 'url' | 'connection_id'>,
  level: Remote['level'] = 'read',
): Remote => ({ url: remoteUrl(url), connectionId: connection_id, level });

/** Fetches and pushes, without the configuration of the repository. */
@Injectable()
export class GitNetwork {
  constructor(private readonly git: GitSandbox) {}

  async heads(workspace: VisibleWorkspace, actor: Actor, { path }: Pick<RepoRow, 'path'>): Promise<Heads> {
    const { stdout } = await this.git.read(workspace, actor, reading(HEADS), { args: [path] });
    return parseHeads(stdout);
  }

  /** All branches, or with a depth the one that is asked for; branches that are gone there are forgotten. */
  async fetch(
    workspace: VisibleWorkspace,
    actor: Actor,
    row: RepoRow,
    { branch, refs }: Heads,
    signal: AbortSignal,
  ): Promise<void> {
    const remote = toRemote(row);
    const one = row.depth !== null && branch !== null ? branch : null;
    const wanted = one === null ? EVERYTHING : `+refs/heads/${one}:refs/remotes/origin/${one}`;
    const { stdout } = await this.git.net(workspace, actor, remote, FETCH_ALL, {
      args: [row.path, remote.url.href, row.depth === null ? '' : String(row.depth), wanted],
      stdin: listHaves(refs),
      signal,
    });
    const found = parseRefs(stdout);
    const gone = [...refs.keys()].filter(
      ref => one === null && isOfRemote(ref) && ref !== REMOTE_HEAD && !found.has(ref),
    );
    const lines = [
      ...gone.map(ref => `delete ${ref}`),
      ...[...found].filter(([ref, sha]) => refs.get(ref) !== sha).map(([ref, sha]) => `update ${ref} ${sha}`),
    ];
    if (lines.length === 0) return;
    const stdin = `${lines.join('\n')}\n`;
    await this.git.write(workspace, actor, UPDATE_REFS, { args: [row.path], stdin, signal });
  }

  /** Whether the remote had another commit before. 409 with advice where it does not take it. */
  async push(
    workspace: VisibleWorkspace,
    actor: Actor,
    row: RepoRow,
    { branch, commit, lease }: { branch: string; commit: string; lease: string | null },
    signal: AbortSignal,
  ): Promise<boolean> {
    const remote = toRemote(row, 'write');
    const ref = `refs/heads/${branch}`;
    const expected = lease === null ? '' : `${ref}:${lease}`;
    const end = await this.git.net(workspace, actor, remote, PUSH, {
      args: [row.path, remote.url.href, `${commit}:${ref}`, expected],
      signal,
      mayFail: true,
    });
    const [, flag = '', , said = ''] = /^([ +\-*!=])\t(\S*)\t(.*)$/m.exec(end.stdout) ?? [];
    if (flag === '!') throw rejected(said, end.stderr, lease !== null);
    const fault = toProblem(end);
    if (fault) throw fault;
    const stdin = `update refs/remotes/origin/${branch} ${commit}\n`;
    await this.git.write(workspace, actor, UPDATE_REFS, { args: [row.path], stdin, signal });
    await this.git.write(workspace, actor, FOLLOW, { args: [row.path, branch], signal });
    return flag !== '=';
  }
}

const REMOTE_HEAD = 'refs/remotes/origin/HEAD';
const isOfRemote = (ref: string): boolean => ref.startsWith('refs/remotes/origin/');

/** What is known of the remote first. */
function listHaves(refs: ReadonlyMap<string, string>): string {
  const ordered = [...refs].toSorted(([a], [b]) => Number(isOfRemote(b)) - Number(isOfRemote(a)));
  const commits = [...new Set(ordered.map(([, sha]) => sha))].slice(0, MAX_HAVES);
  return commits.map(sha => `${sha}\n`).join('');
}

function rejected(said: string, stderr: string, hasLease: boolean): Conflict {
  if (/stale info/.test(said) || (hasLease && /fetch first|non-fast-forward/.test(said)))
    return new Conflict(
      'The remote has other commits than were last fetched, which would be lost: pull, look at them, then push again',
    );
  if (/fetch first|non-fast-forward|needs force/.test(said))
    return new Conflict(
      'The remote has commits that are missing here: pull first (mode merge or rebase), then push again',
    );
  const [, reason] = /\[remote rejected\] \((.*)\)/.exec(said) ?? [];
  return new Conflict(`The remote refused it: ${reason ?? lastLine(stderr)}`);
}
