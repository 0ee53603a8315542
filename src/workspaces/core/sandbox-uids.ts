import { Injectable, OnModuleInit } from '@nestjs/common';
import { chooseBase, lastMappedUid } from '#libs/sandbox/index.js';
import { Config } from '../../platform/config/index.js';
import { Log } from '../../platform/log/index.js';
import { WorkspacesStore } from './workspaces.store.js';

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
