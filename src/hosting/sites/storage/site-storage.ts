import { Injectable, OnModuleInit } from '@nestjs/common';
import { NoRoom, StoredElsewhere, WorkspaceQuota } from '../../../workspaces/changes/index.js';
import { BuildFailure } from '../../builds/index.js';
import { SiteFolders } from '../folders/site-folders.js';
import type { SiteRow } from '../records/sites.store.js';
import { StoredBytesStore } from './stored-bytes.store.js';

type Stored = Pick<SiteRow, 'id' | 'workspace_id'>;

/** Accounts for stored versions in the quota of their workspace. Shared bytes count once. */
@Injectable()
export class SiteStorage implements OnModuleInit {
  constructor(
    private readonly elsewhere: StoredElsewhere,
    private readonly quota: WorkspaceQuota,
    private readonly folders: SiteFolders,
    private readonly store: StoredBytesStore,
  ) {}

  onModuleInit(): void {
    this.elsewhere.add(workspaceId => this.store.inWorkspace(workspaceId));
  }

  /** Throws BuildFailure if the workspace is full. Measures again: whoever failed before may have made room. */
  async requireNotFull({ workspace_id }: Stored): Promise<void> {
    const excess = await this.quota.excess(workspace_id);
    if (excess) throw new BuildFailure(`There is no room for it: ${excess}`);
  }

  /** Records stored bytes. Throws BuildFailure if the workspace has no room for them. */
  async requireRoom(site: Stored, added: number): Promise<void> {
    try {
      await this.quota.require(site.workspace_id, { bytes: added, files: 0 });
    } catch (error) {
      if (error instanceof NoRoom) throw new BuildFailure(`There is no room for it: ${error.detail}.`);
      throw error;
    }
    await this.added(site, added);
  }

  async hasRoom({ workspace_id }: Stored, bytes: number): Promise<boolean> {
    const room = await this.quota.room(workspace_id);
    return bytes <= room.bytes;
  }

  added({ id }: Stored, bytes: number): Promise<void> {
    return this.store.added(id, bytes);
  }

  /** Call when a build failed: its files count until they are removed. */
  async measure({ id }: Stored): Promise<void> {
    await this.store.measured(id, await this.folders.blobsOf(id).bytes());
  }
}
