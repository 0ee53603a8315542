import { Injectable } from '@nestjs/common';
import { SandboxFailure, type SandboxRequest, type SandboxResult } from '#libs/sandbox/index.js';
import { Log } from '../../platform/log/index.js';
import { Isolation } from './isolation.js';
import { SandboxEnvironments, type WorkspaceRef } from './sandboxes.service.js';

const LOOK_LIMITS = { wallMs: 10_000, cpuSeconds: 10, outputBytes: 32 * 1024 * 1024 };

/** Programs of the system that help the service to read the files of workspaces, which may be hostile. */
@Injectable()
export class SystemPrograms {
  constructor(
    private readonly isolation: Isolation,
    private readonly environments: SandboxEnvironments,
    private readonly log: Log,
  ) {}

  /**
   * Output of a system program on the files; null without isolation, without the program, or when it prints too much.
   * Takes no slot: searches have limits of their own.
   */
  async look(
    workspace: WorkspaceRef,
    request: Pick<SandboxRequest, 'argv' | 'cwd' | 'signal'>,
  ): Promise<string | null> {
    const { driver } = this.isolation;
    if (!driver.isolated || !(await driver.check()).ok) return null;
    const files = this.environments.filesOf(workspace);
    const result = await this.runIfPossible({ ...request, ...files, limits: LOOK_LIMITS });
    if (!result) return null;
    const { ended_by, exit_code, truncated, stdout, stderr } = result;
    const isComplete = ended_by === 'exit' && exit_code !== null && !truncated && stderr === '';
    return isComplete && exit_code < 127 ? stdout : null;
  }

  /** Null where isolation is gone, as when a Docker engine stops. */
  private async runIfPossible(request: SandboxRequest): Promise<SandboxResult | null> {
    try {
      return await this.isolation.driver.run(request);
    } catch (error) {
      if (!(error instanceof SandboxFailure)) throw error;
      this.log.warn({ err: error }, 'files are looked at without help of programs');
      return null;
    }
  }
}
