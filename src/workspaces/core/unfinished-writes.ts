import { mkdirSync, writeFileSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { Injectable, OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import { validate as isUuid } from 'uuid';
import { TEMPORARY_MAKER, WorkspaceFs, WorkspaceFsError } from '#libs/workspace-fs/index.js';
import { Config } from '../../platform/config/index.js';
import { Chore } from '../../platform/jobs/index.js';
import { Leases } from '../../platform/leases/index.js';
import { Log } from '../../platform/log/index.js';
import { WorkspacesStore } from './workspaces.store.js';

const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Removes temporary files of writes that a crash cut short. Each process notes on disk which workspaces it opens, so that
 * others need not scan all of them when it is gone. A daily sweep removes the rest.
 */
@Injectable()
export class UnfinishedWrites implements OnModuleInit, OnApplicationShutdown {
  private readonly noted = new Set<string>();
  private readonly own: string;

  constructor(
    private readonly config: Config,
    private readonly workspaces: WorkspacesStore,
    private readonly leases: Leases,
    private readonly log: Log,
  ) {
    this.own = `${TEMPORARY_MAKER}.${leases.processId}`;
  }

  onModuleInit(): void {
    this.leases.recover('temporary-file', () => this.cleanUp());
  }

  async onApplicationShutdown(): Promise<void> {
    await rm(this.folderOf(this.own), { recursive: true, force: true });
  }

  /** Must precede a write. */
  note(workspaceId: string): void {
    if (this.noted.has(workspaceId)) return;
    mkdirSync(this.folderOf(this.own), { recursive: true });
    writeFileSync(path.join(this.folderOf(this.own), workspaceId), '');
    this.noted.add(workspaceId);
  }

  /**
   * Removes files that only look like temporary files of the service: code in a sandbox made them, and no user could see
   * or delete them. Returns how many there were.
   */
  async sweepForged(workspaceId: string, makers: readonly string[]): Promise<number> {
    const others = makers.filter(maker => maker !== TEMPORARY_MAKER);
    if (others.length === 0) return 0;
    const known = new Set((await namesIn(this.folder)).map(name => name.split('.')[0]));
    let removed = 0;
    for (const maker of others) if (!known.has(maker)) removed += await this.sweep(workspaceId, maker);
    return removed;
  }

  private async cleanUp(): Promise<void> {
    for (const left of await this.leftBehind()) await this.cleanUpAfter(left);
  }

  private async leftBehind(): Promise<string[]> {
    const holders = new Map<string, string>();
    for (const name of await namesIn(this.folder)) {
      const [, holder = ''] = name.split('.');
      if (name !== this.own && isUuid(holder)) holders.set(holder, name);
    }
    return [...(await this.leases.gone(holders.keys()))].map(id => holders.get(id) as string);
  }

  private async cleanUpAfter(name: string): Promise<void> {
    const [maker = ''] = name.split('.');
    let removed = 0;
    for (const id of await namesIn(this.folderOf(name))) removed += await this.sweep(id, maker);
    await rm(this.folderOf(name), { recursive: true, force: true });
    this.log.info({ removed }, 'the temporary files of a process are removed');
  }

  @Chore('sweep_temporaries', { everyMs: DAY_MS })
  async sweepAll(): Promise<void> {
    for (const id of await this.workspaces.allIds()) await this.sweep(id);
  }

  private async sweep(id: string, maker?: string): Promise<number> {
    const files = new WorkspaceFs(path.resolve(this.config.dataDir, 'workspaces', id), {
      maxFileBytes: this.config.workspaceLimits.file_bytes,
    });
    try {
      return await files.sweepTemporaries({ maker });
    } catch (error) {
      if (!(error instanceof WorkspaceFsError)) throw error;
      this.log.warn({ err: error, workspace_id: id }, 'temporary files were not swept');
      return 0;
    }
  }

  private get folder(): string {
    return path.resolve(this.config.dataDir, 'writing');
  }

  private folderOf(name: string): string {
    return path.join(this.folder, name);
  }
}

/** None where there is no such folder: another process may have removed it. */
async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
