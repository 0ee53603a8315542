import { Injectable, OnModuleInit } from '@nestjs/common';
import { NoRoom, StoredElsewhere, WorkspaceQuota } from '../../../workspaces/changes/index.js';
import { BuildFailure } from '../../builds/index.js';
import { SiteFolders } from '../folders/site-folders.js';
import type { SiteRow } from '../records/sites.store.js';
import { StoredBytesStore } from './stored-bytes.store.js';

type Stored = Pick<SiteRow, 'id' | 'workspace_id'>;

/** What the versions of sites take: room of their workspaces. Bytes that several versions have count once. */
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

  /** Throws BuildFailure where the workspace is full by a new measurement: whoever failed for that tries in vain. */
  async requireNotFull({ workspace_id }: Stored): Promise<void> {
    const excess = await this.quota.excess(workspace_id);
    if (excess) throw new BuildFailure(`There is no room for it: ${excess}`);
  }

  /** Counts what was stored for the site. Throws BuildFailure where the workspace has no room for it. */
  async requireRoom(site: Stored, added: number): Promise<void> {
    try {
      await this.quota.require(site.workspace_id, { bytes: added, files: 0 });
    } catch (error) {
      if (error instanceof NoRoom) throw new BuildFailure(`There is no room for it: ${error.detail}.`);
      throw error;
    }
    await this.added(site, added);
  }

  /** Whether the workspace has room for so many bytes more. */
  async hasRoom({ workspace_id }: Stored, bytes: number): Promise<boolean> {
    const room = await this.quota.room(workspace_id);
    return bytes <= room.bytes;
  }

  added({ id }: Stored, bytes: number): Promise<void> {
    return this.store.added(id, bytes);
  }

  /** To be called where a build failed: what it stored counts until it is removed. */
  async measure({ id }: Stored): Promise<void> {
    await this.store.measured(id, await this.folders.blobsOf(id).bytes());
  }
}
