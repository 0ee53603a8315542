import { Injectable } from '@nestjs/common';
import type { Actor, WorkspacePermission } from '../../platform/access/index.js';
import { beforeSideEffect } from '../../platform/database/index.js';
import { Conflict } from '../../platform/errors/index.js';
import { NamedLeases } from '../../platform/leases/index.js';
import { RepositoryMissing } from './git/git-fault.js';
import { GitSandbox } from './git/git-sandbox.js';
import { GitReposStore, type RepoRow, type SeenRepo } from './git-repos.store.js';

/** Name of the lease under which a repository is changed. */
export const leaseName = (id: string): string => `git_repo ${id}`;

/** Opens repositories that are ready, and notes where one is missing. */
@Injectable()
export class RepoWork {
  constructor(
    private readonly repos: GitReposStore,
    private readonly git: GitSandbox,
    private readonly leases: NamedLeases,
  ) {}

  async read<T>(
    actor: Actor,
    permission: WorkspacePermission,
    id: string,
    look: (repo: SeenRepo) => Promise<T>,
  ): Promise<T> {
    const repo = await this.require(actor, permission, id);
    return this.noting(repo.row, () => look(repo));
  }

  /** Holds the lease of the repository; `prepare` refuses before anything is done. */
  async write<T>(
    actor: Actor,
    permission: WorkspacePermission,
    id: string,
    prepare: (repo: SeenRepo) => Promise<void>,
    work: (repo: SeenRepo, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    await prepare(await this.require(actor, permission, id));
    beforeSideEffect();
    return this.leases.hold(leaseName(id), async ({ signal }) => {
      // Those before may have changed it.
      const repo = await this.require(actor, permission, id);
      return this.noting(repo.row, () =>
        this.git.recorded(repo.workspace, id, signal, until => work(repo, until)),
      );
    });
  }

  async noteSync(id: string, column: 'last_pull_at' | 'last_push_at'): Promise<void> {
    await this.repos.change(id, { [column]: new Date().toISOString() });
  }

  private async require(actor: Actor, permission: WorkspacePermission, id: string): Promise<SeenRepo> {
    const repo = await this.repos.require(actor, permission, id);
    const { state, reason } = repo.row;
    if (state === 'cloning') throw new Conflict('It is still being cloned; watch its operation');
    if (state === 'error') throw new Conflict(`It was not cloned (${reason ?? 'it failed'}); clone it again`);
    return repo;
  }

  private async noting<T>({ id, state }: RepoRow, work: () => Promise<T>): Promise<T> {
    try {
      const result = await work();
      if (state === 'missing') await this.repos.change(id, { state: 'ready', reason: null });
      return result;
    } catch (error) {
      if (error instanceof RepositoryMissing && state !== 'missing')
        await this.repos.change(id, { state: 'missing', reason: error.detail });
      throw error;
    }
  }
}
