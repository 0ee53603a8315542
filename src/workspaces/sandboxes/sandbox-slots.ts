import { Injectable } from '@nestjs/common';
import { ConcurrencyLimit } from '#libs/concurrency-limit/index.js';
import { Config } from '../../platform/config/index.js';
import type { VisibleWorkspace } from '../core/index.js';

/** Limits the sandboxes of this process by workspace and organization. */
@Injectable()
export class SandboxSlots {
  private readonly ofWorkspace: ConcurrencyLimit;
  private readonly ofOrganization: ConcurrencyLimit;

  constructor(config: Config) {
    this.ofWorkspace = new ConcurrencyLimit(config.sandboxLimits.workspace, 'commands run in this workspace');
    this.ofOrganization = new ConcurrencyLimit(
      config.sandboxLimits.organization,
      'commands run in the workspaces of this organization',
    );
  }

  /** Resolves with what releases the slot; 429 where none is free in time. */
  async acquire(
    { id, organization_id }: Pick<VisibleWorkspace, 'id' | 'organization_id'>,
    signal?: AbortSignal,
  ): Promise<() => void> {
    const releaseWorkspace = await this.ofWorkspace.acquire({ key: id, signal });
    try {
      const releaseOrganization = await this.ofOrganization.acquire({ key: organization_id, signal });
      return () => {
        releaseOrganization();
        releaseWorkspace();
      };
    } catch (error) {
      releaseWorkspace();
      throw error;
    }
  }
}
