import { Injectable, OnModuleInit } from '@nestjs/common';
import { shortName } from '#libs/plain-text/index.js';
import { gitCloned, gitCloneFailed } from '../../../connections/git-repos/index.js';
import { type Notice, Notifier } from '../delivery/index.js';
import { SourcesStore } from './sources.store.js';

const MAX_REASON = 500;

/** What becomes of clones. Who asked for one is notified. */
@Injectable()
export class GitSource implements OnModuleInit {
  constructor(
    private readonly notifier: Notifier,
    private readonly store: SourcesStore,
  ) {}

  onModuleInit(): void {
    this.notifier.on(gitCloned, 'git.cloned', async ({ operation_id }) =>
      this.about(operation_id, 'completed', path => ({
        title: `The repository ${shortName(path)} is cloned`,
        body: 'Its files are in the workspace.',
      })),
    );
    this.notifier.on(gitCloneFailed, 'git.clone_failed', async ({ operation_id }) =>
      this.about(operation_id, 'error', (path, error) => ({
        title: `The repository ${shortName(path)} was not cloned`,
        body: shortName(error, MAX_REASON),
      })),
    );
  }

  private async about(
    operationId: string,
    state: string,
    words: (path: string, error: string) => Pick<Notice, 'title' | 'body'>,
  ): Promise<Notice | undefined> {
    const operation = await this.store.operation(operationId);
    const repo = await this.store.clonedBy(operationId);
    if (operation?.state !== state || operation.organization_id === null || !repo) return undefined;
    return {
      audience: { people: [operation.actor_id] },
      organization_id: operation.organization_id,
      workspace_id: operation.subject_id,
      about: operationId,
      data: { operation_id: operationId, git_repo_id: repo.id },
      chain: operation.chain ?? undefined,
      ...words(repo.path, operation.error ?? ''),
    };
  }
}
