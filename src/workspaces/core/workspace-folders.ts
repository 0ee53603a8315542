import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Injectable, OnModuleInit } from '@nestjs/common';
import { WorkspaceFs, WorkspaceFsError } from '#libs/workspace-fs/index.js';
import { Config } from '../../platform/config/index.js';
import { beforeSideEffect, dryRun } from '../../platform/database/index.js';
import { Log } from '../../platform/log/index.js';
import { UnfinishedWrites } from './unfinished-writes.js';
import { WorkspacesStore } from './workspaces.store.js';

/** Well above people and system services. */
export const MIN_UID = 200_000;
/** What systemd leaves unassigned, above its ranges for containers (https://systemd.io/UIDS-GIDS): 268 million ids. */
const FREE_UIDS = { first: 0x7000_0000, last: 0x7fff_ffff };
const MIN_RANGE = 1_000_000;

/**
 * Which host user ids the sandboxes of this installation have. Two installations on one host must not share any: the code
 * of one would reach the processes and files of the other. So each begins somewhere else, by chance or as SANDBOX_UID_BASE
 * says, and keeps that: the files of its workspaces belong to these ids.
 */
@Injectable()
export class SandboxUids implements OnModuleInit {
  private base: number | undefined;

  constructor(
    private readonly config: Config,
    private readonly workspaces: WorkspacesStore,
    private readonly log: Log,
  ) {}

  async onModuleInit(): Promise<void> {
    const wanted = this.config.sandboxUidBase;
    const chosen = wanted ?? chooseBase(lastMappedUid());
    this.base = await this.workspaces.sandboxUidBase(chosen);
    if (wanted !== undefined && wanted !== this.base)
      this.log.warn(
        { wanted, kept: this.base },
        `SANDBOX_UID_BASE has no effect: the files of this installation belong to user ids from ${this.base} on`,
      );
  }

  of(workspaceNumber: number): number {
    if (this.base === undefined) throw new Error('The range of user ids is not read yet');
    return this.base + workspaceNumber;
  }
}

/** Somewhere among the unassigned ids, or as far up as a container with fewer of them allows. */
export function chooseBase(lastUid: number): number {
  if (lastUid >= FREE_UIDS.last) return randomInt(FREE_UIDS.first, FREE_UIDS.last - MIN_RANGE);
  return lastUid - MIN_RANGE > MIN_UID ? randomInt(MIN_UID, lastUid - MIN_RANGE) : MIN_UID;
}

/** The highest user id that exists in this user namespace, of those from 0 on (user_namespaces(7)). */
export function lastMappedUid(map = readMap()): number {
  let last = -1;
  const ranges = map.split('\n').map(line => line.trim().split(/\s+/).map(Number));
  for (const [inside = Number.NaN, , count = 0] of ranges.sort(([a = 0], [b = 0]) => a - b))
    if (inside <= last + 1) last = Math.max(last, inside + count - 1);
  return last;
}

function readMap(): string {
  try {
    return readFileSync('/proc/self/uid_map', 'utf8');
  } catch (error) {
    // Not Linux: no namespaces.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return `0 0 ${2 ** 32 - 1}`;
    throw error;
  }
}

interface FolderOf {
  readonly id: string;
  readonly number: number;
}

@Injectable()
export class WorkspaceFolders {
  constructor(
    private readonly config: Config,
    private readonly uids: SandboxUids,
    private readonly unfinished: UnfinishedWrites,
  ) {}

  pathOf({ id }: Pick<FolderOf, 'id'>): string {
    return path.join(this.root, id);
  }

  /** The host account that owns the files and runs the code; undefined unless the service is root. */
  ownerOf({ number }: Pick<FolderOf, 'number'>): { uid: number; gid: number } | undefined {
    if (process.getuid?.() !== 0) return undefined;
    const uid = this.uids.of(number);
    return { uid, gid: uid };
  }

  open(workspace: FolderOf): WorkspaceFs {
    if (!dryRun()) this.unfinished.note(workspace.id);
    return new WorkspaceFs(this.pathOf(workspace), this.optionsFor(workspace));
  }

  /** Read only. */
  reader(id: string): WorkspaceFs {
    return new WorkspaceFs(this.pathOf({ id }), { maxFileBytes: 0 });
  }

  async create(workspace: FolderOf): Promise<void> {
    beforeSideEffect();
    await WorkspaceFs.create(this.pathOf(workspace), this.optionsFor(workspace));
  }

  /** The folder with the history of its files. Commands never see it. */
  historyOf({ id }: Pick<FolderOf, 'id'>): string {
    return path.join(this.historyRoot, id);
  }

  /** Creates it where it is missing. */
  openHistory(workspace: FolderOf): Promise<WorkspaceFs> {
    const options = { owner: this.ownerOf(workspace), maxFileBytes: Number.MAX_SAFE_INTEGER };
    return WorkspaceFs.create(this.historyOf(workspace), options);
  }

  /** Removes a workspace's folders while code may still change what is in them. */
  async remove(id: string): Promise<void> {
    await this.removeFrom(this.historyRoot, id);
    await this.removeFrom(this.root, id);
  }

  private async removeFrom(root: string, id: string): Promise<void> {
    const folders = new WorkspaceFs(root, { maxFileBytes: this.config.maxFileBytes });
    try {
      await folders.remove(id, { recursive: true });
    } catch (error) {
      if (!(error instanceof WorkspaceFsError && error.code === 'not_found')) throw error;
    }
  }

  private get root(): string {
    return path.resolve(this.config.dataDir, 'workspaces');
  }

  private get historyRoot(): string {
    return path.resolve(this.config.dataDir, 'history');
  }

  private optionsFor(workspace: FolderOf) {
    const { maxFileBytes } = this.config;
    return { owner: this.ownerOf(workspace), maxFileBytes, beforeChange: beforeSideEffect };
  }
}
