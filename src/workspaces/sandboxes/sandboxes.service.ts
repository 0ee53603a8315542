import path from 'node:path';
import { Injectable, OnApplicationBootstrap } from '@nestjs/common';
import {
  closedFolder,
  type OutputChunk,
  openingOf,
  type SandboxDriver,
  SandboxFailure,
  SandboxRefusal,
  type SandboxRequest,
  type SandboxResult,
  type SandboxSession,
  SessionOver,
} from '#libs/sandbox/index.js';
import type { ActionCaller } from '../../platform/actions/index.js';
import { Config } from '../../platform/config/index.js';
import { Conflict, Invalid, translateErrors, Unavailable } from '../../platform/errors/index.js';
import { Log } from '../../platform/log/index.js';
import { type Gauge, type NameClaim, RunningSandboxes, SandboxSlots } from './running-sandboxes.js';
import type { SandboxCaller } from './running-sandboxes.store.js';
import { type Environment, SandboxEnvironments, type WorkspaceRef } from './sandbox-environments.js';
import { type OpenShell, type ScriptResult, Shell, type ShellUse } from './shell.js';

translateErrors(SandboxRefusal, error => new Invalid(error.message));
translateErrors(SessionOver, error => new Conflict(error.message));
translateErrors(SandboxFailure, error => new Unavailable(`Code cannot run here: ${error.message}`));

/** Of one process: background processes may live as long as a run. */
const SHELL_CPU_SECONDS = 3600;

const LOOK_LIMITS = { wallMs: 10_000, cpuSeconds: 10, outputBytes: 32 * 1024 * 1024 };

export interface ScriptRequest {
  script: string;
  /** For what it runs; absent: the service itself. */
  caller?: SandboxCaller;
  seconds?: number;
  signal?: AbortSignal;
  actions?: ActionCaller;
  onOutput?: (chunk: OutputChunk) => void;
}

/** Runs code on workspaces, isolated from the host and from each other; refuses where that is impossible. */
@Injectable()
export class SandboxesService implements OnApplicationBootstrap {
  private readonly driver: SandboxDriver;

  constructor(
    private readonly config: Config,
    private readonly environments: SandboxEnvironments,
    private readonly running: RunningSandboxes,
    private readonly slots: SandboxSlots,
    private readonly log: Log,
  ) {
    this.driver = environments.driver;
  }

  async onApplicationBootstrap(): Promise<void> {
    if (!this.config.runsJobs) return;
    const check = await this.driver.check();
    if (!check.ok) this.log.warn({ driver: this.driver.name }, `code will not run: ${check.reason}`);
    else if (!this.driver.isolated)
      this.log.warn({ driver: this.driver.name }, 'code runs without isolation');
    this.warnOfClosedFolder();
  }

  /** Commands run as users of their own, who have to reach the workspace; a Docker engine mounts it. */
  private warnOfClosedFolder(): void {
    if (process.getuid?.() !== 0 || this.driver.name === 'docker') return;
    const closed = closedFolder(path.resolve(this.config.dataDir));
    if (closed === undefined) return;
    this.log.warn(
      { driver: this.driver.name },
      `commands and the history of files need a way to DATA_DIR, and ${closed} keeps other users out: ${openingOf(closed)}`,
    );
  }

  /** 503 where no sandbox can be had. */
  async runScript(workspace: WorkspaceRef, request: ScriptRequest): Promise<ScriptResult> {
    await this.requireDriver();
    const release = await this.slots.acquire(workspace.id, request.signal);
    try {
      return await this.runScriptNow(workspace, request);
    } finally {
      release();
    }
  }

  private async runScriptNow(workspace: WorkspaceRef, request: ScriptRequest): Promise<ScriptResult> {
    const { script: command, caller = { kind: 'service', id: null }, signal } = request;
    const { sandboxMemoryBytes: memoryBytes, sandboxSeconds } = this.config;
    const seconds = request.seconds ?? sandboxSeconds;
    const environment = await this.environments.prepare(workspace, caller, request.actions);
    const run = (signal: AbortSignal, onStarted: (gauge: Gauge) => void) =>
      this.driver.run({
        ...environment.request,
        argv: argvOf(environment.prelude, command),
        limits: { memoryBytes, wallMs: seconds * 1000, cpuSeconds: seconds },
        signal,
        onStarted,
        onOutput: request.onOutput,
      });
    try {
      const started = { workspaceId: workspace.id, command, caller, kind: 'command', signal } as const;
      const result = await this.running.showing(started, run);
      return { ...result, egress_refused: environment.takeRefused() };
    } finally {
      await environment.close();
    }
  }

  /** The opener ends it. */
  openShell(use: ShellUse): Shell {
    return new Shell((workspace, shellUse, script) => this.openSession(workspace, shellUse, script), use);
  }

  private async openSession(
    workspace: WorkspaceRef,
    { caller, actions, name }: ShellUse,
    command: string,
  ): Promise<OpenShell> {
    await this.requireDriver();
    const started = {
      workspaceId: workspace.id,
      command,
      caller,
      kind: 'session',
      signal: undefined,
    } as const;
    const release = await this.slots.acquire(workspace.id);
    let claim: NameClaim | undefined;
    let environment: Environment | undefined;
    let session: SandboxSession;
    try {
      claim = name === undefined ? undefined : await this.running.claim(started, name);
      environment = await this.environments.prepare(workspace, caller, actions);
      session = await this.beginSession(environment);
    } catch (error) {
      release();
      await environment?.close();
      await claim?.release();
      throw error;
    }
    const shown = this.running.showing({ ...started, claim }, (stop, measuredBy) => {
      measuredBy(() => session.usage());
      stop.addEventListener('abort', () => void session.end(), { once: true });
      return session.ended;
    });
    void shown
      .finally(release)
      .then(environment.close)
      .catch(error => this.log.warn({ err: error }, 'a session was not cleaned up'));
    return { session, takeRefused: environment.takeRefused };
  }

  private async beginSession({ request, prelude }: Environment): Promise<SandboxSession> {
    const { sandboxMemoryBytes: memoryBytes, sandboxSeconds } = this.config;
    const limits = { memoryBytes, wallMs: sandboxSeconds * 1000, cpuSeconds: SHELL_CPU_SECONDS };
    const session = await this.driver.openSession({ ...request, limits });
    if (prelude !== '') await session.run({ script: prelude });
    return session;
  }

  private async requireDriver(): Promise<void> {
    const fault = await this.fault();
    if (fault !== null) throw new Unavailable(fault);
  }

  /** Null where code can run. */
  async fault(): Promise<string | null> {
    const check = await this.driver.check();
    return check.ok ? null : `Code cannot run here: ${check.reason}`;
  }

  /**
   * Output of a system program on the files; null without isolation, without the program, or when it prints too much.
   * Takes no slot: searches have limits of their own.
   */
  async look(
    workspace: WorkspaceRef,
    request: Pick<SandboxRequest, 'argv' | 'cwd' | 'signal'>,
  ): Promise<string | null> {
    if (!this.driver.isolated || !(await this.driver.check()).ok) return null;
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
      return await this.driver.run(request);
    } catch (error) {
      if (!(error instanceof SandboxFailure)) throw error;
      this.log.warn({ err: error }, 'files are looked at without help of programs');
      return null;
    }
  }

  /** Runs a program for the service itself, on a folder of its own; 503 where no sandbox can be had. */
  async runProgram(request: SandboxRequest): Promise<SandboxResult> {
    await this.requireDriver();
    return this.driver.run(request);
  }
}

function argvOf(prelude: string, script: string): string[] {
  if (prelude === '') return ['bash', '-c', script];
  return ['bash', '-c', `${prelude}; exec bash -c "$1"`, 'bash', script];
}
