import path from 'node:path';
import { Inject, Injectable, OnApplicationBootstrap } from '@nestjs/common';
import {
  createSandbox,
  type OutputChunk,
  type SandboxDriver,
  SandboxFailure,
  SandboxRefusal,
  type SandboxResult,
} from '#libs/sandbox/index.js';
import { Config } from '../../platform/config/config.js';
import { Invalid, translateErrors, Unavailable } from '../../platform/http/problem.js';
import { Log } from '../../platform/log/log.js';
import { type VisibleWorkspace, WorkspaceFolders } from '../workspaces/index.js';

translateErrors(SandboxRefusal, error => new Invalid(error.message));
translateErrors(SandboxFailure, error => new Unavailable(`Code cannot run here: ${error.message}`));

/** A shell script to run on the files of a workspace. */
export interface ScriptRequest {
  script: string;
  /** Wall time; absent: SANDBOX_SECONDS. */
  seconds?: number;
  signal?: AbortSignal;
  onOutput?: (chunk: OutputChunk) => void;
}

/** Runs code on workspaces, isolated from the host and from each other; refuses to where it cannot be. */
@Injectable()
export class SandboxesService implements OnApplicationBootstrap {
  private readonly driver: SandboxDriver;

  constructor(
    @Inject(Config) private readonly config: Config,
    @Inject(WorkspaceFolders) private readonly folders: WorkspaceFolders,
    @Inject(Log) private readonly log: Log,
  ) {
    const node = path.dirname(path.dirname(process.execPath));
    const own = node.startsWith('/usr') ? [] : [{ from: process.execPath, to: '/opt/node/bin/node' }];
    this.driver = createSandbox(config.sandboxDriver, { readOnlyBinds: own });
  }

  async onApplicationBootstrap(): Promise<void> {
    if (!this.config.runsJobs) return;
    const check = await this.driver.check();
    if (!check.ok) this.log.warn({ driver: this.driver.name }, `code will not run: ${check.reason}`);
    else if (!this.driver.isolated)
      this.log.warn({ driver: this.driver.name }, 'code runs without isolation');
  }

  /** 503 with what to do about it where no sandbox can be had. */
  async runScript(
    workspace: Pick<VisibleWorkspace, 'id' | 'number'>,
    request: ScriptRequest,
  ): Promise<SandboxResult> {
    const check = await this.driver.check();
    if (!check.ok) throw new Unavailable(`Code cannot run here: ${check.reason}`);
    const seconds = request.seconds ?? this.config.sandboxSeconds;
    return this.driver.run({
      workspace: this.folders.pathOf(workspace),
      owner: this.folders.ownerOf(workspace),
      argv: ['bash', '-c', request.script],
      limits: { memoryBytes: this.config.sandboxMemoryBytes, wallMs: seconds * 1000, cpuSeconds: seconds },
      signal: request.signal,
      onOutput: request.onOutput,
    });
  }
}
