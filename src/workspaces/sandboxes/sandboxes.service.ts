import path from 'node:path';
import { Injectable, OnApplicationBootstrap } from '@nestjs/common';
import { proxyVariables, startRelay } from '#libs/egress-proxy/index.js';
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
  type SessionRequest,
} from '#libs/sandbox/index.js';
import type { ActionCaller } from '../../platform/actions/index.js';
import { Config } from '../../platform/config/index.js';
import { Conflict, Invalid, translateErrors, Unavailable } from '../../platform/errors/index.js';
import { Log } from '../../platform/log/index.js';
import { type VisibleWorkspace, WorkspaceFolders } from '../core/index.js';
import { EgressSockets, type OpenEgress } from '../egress/index.js';
import { ActionSockets, type OpenActionSocket } from './actions/action-sockets.js';
import { isolationOf } from './driver.js';
import { type Gauge, RunningSandboxes } from './running-sandboxes.js';
import type { SandboxCaller } from './running-sandboxes.store.js';
import { SandboxPlaces } from './sandbox-places.js';
import type { ScriptResult } from './script-result.js';
import { type OpenShell, Shell, type ShellUse } from './shell.js';

translateErrors(SandboxRefusal, error => new Invalid(error.message));
translateErrors(SessionOver, error => new Conflict(error.message));
translateErrors(SandboxFailure, error => new Unavailable(`Code cannot run here: ${error.message}`));

const SYSTEM_PATH = ['/usr/local/bin', '/usr/bin', '/bin', '/usr/sbin', '/sbin'];
/** Where the way out to listed hosts is, inside. */
const EGRESS_FOLDER = '/run/egress';
/** Where the socket and the command for actions are, inside. */
const ACTIONS_FOLDER = '/run/atelier';

/** CPU time of one process in a shell: background processes may live as long as a run. */
const SHELL_CPU_SECONDS = 3600;

const LOOK_LIMITS = { wallMs: 10_000, cpuSeconds: 10, outputBytes: 32 * 1024 * 1024 };

/** A shell script to run on the files of a workspace. */
export interface ScriptRequest {
  script: string;
  /** For what it runs; absent: the service itself. */
  caller?: SandboxCaller;
  /** Wall time; absent: SANDBOX_SECONDS. */
  seconds?: number;
  signal?: AbortSignal;
  /** Who the command `actions` acts as; absent: there is no such command. */
  actions?: ActionCaller;
  onOutput?: (chunk: OutputChunk) => void;
}

interface PreparedPlace {
  readonly request: Pick<SandboxRequest, 'workspace' | 'owner' | 'env' | 'readOnlyBinds'>;
  /** Shell commands to run before anything else; empty where there is nothing to do. */
  readonly prelude: string;
  readonly takeRefused: () => string[];
  close(): Promise<void>;
}

/** Runs code on workspaces, isolated from the host and from each other; refuses to where it cannot be. */
@Injectable()
export class SandboxesService implements OnApplicationBootstrap {
  private readonly driver: SandboxDriver;
  /** The folder of the service's own Node.js, as commands see it. */
  private readonly nodeFolder: string;

  constructor(
    private readonly config: Config,
    private readonly sockets: ActionSockets,
    private readonly egress: EgressSockets,
    private readonly folders: WorkspaceFolders,
    private readonly running: RunningSandboxes,
    private readonly places: SandboxPlaces,
    private readonly log: Log,
  ) {
    const { driver, nodeFolder } = isolationOf(config);
    this.driver = driver;
    this.nodeFolder = nodeFolder;
  }

  async onApplicationBootstrap(): Promise<void> {
    if (!this.config.runsJobs) return;
    const check = await this.driver.check();
    if (!check.ok) this.log.warn({ driver: this.driver.name }, `code will not run: ${check.reason}`);
    else if (!this.driver.isolated)
      this.log.warn({ driver: this.driver.name }, 'code runs without isolation');
    this.warnOfClosedFolder();
  }

  /** Commands run as users of their own, who have to get to the workspace; a Docker engine brings them there. */
  private warnOfClosedFolder(): void {
    if (process.getuid?.() !== 0 || this.driver.name === 'docker') return;
    const closed = closedFolder(path.resolve(this.config.dataDir));
    if (closed === undefined) return;
    this.log.warn(
      { driver: this.driver.name },
      `commands and the history of files need a way to DATA_DIR, and ${closed} keeps other users out: ${openingOf(closed)}`,
    );
  }

  /** 503 with what to do about it where no sandbox can be had. */
  async runScript(
    workspace: Pick<VisibleWorkspace, 'id' | 'number'>,
    request: ScriptRequest,
  ): Promise<ScriptResult> {
    await this.requireDriver();
    const leave = await this.places.acquire(workspace.id, request.signal);
    try {
      return await this.runScriptNow(workspace, request);
    } finally {
      leave();
    }
  }

  private async runScriptNow(
    workspace: Pick<VisibleWorkspace, 'id' | 'number'>,
    request: ScriptRequest,
  ): Promise<ScriptResult> {
    const seconds = request.seconds ?? this.config.sandboxSeconds;
    const { script: command, caller = { kind: 'service', id: null }, signal } = request;
    const place = await this.prepare(workspace, caller, request.actions);
    const run = (signal: AbortSignal, onStarted: (gauge: Gauge) => void) =>
      this.driver.run({
        ...place.request,
        argv: argvOf(place.prelude, request.script),
        limits: { memoryBytes: this.config.sandboxMemoryBytes, wallMs: seconds * 1000, cpuSeconds: seconds },
        signal,
        onStarted,
        onOutput: request.onOutput,
      });
    try {
      const started = { workspaceId: workspace.id, command, caller, kind: 'command', signal } as const;
      const result = await this.running.showing(started, run);
      return { ...result, egress_refused: place.takeRefused() };
    } finally {
      await place.close();
    }
  }

  /** A shell that lasts over several scripts; whoever opens it ends it. */
  openShell(use: ShellUse): Shell {
    return new Shell((workspace, shellUse, script) => this.openSession(workspace, shellUse, script), use);
  }

  private async openSession(
    workspace: Pick<VisibleWorkspace, 'id' | 'number'>,
    { caller, actions, name }: ShellUse,
    script: string,
  ): Promise<OpenShell> {
    await this.requireDriver();
    const started = {
      workspaceId: workspace.id,
      command: script,
      caller,
      kind: 'session',
      signal: undefined,
    } as const;
    const leave = await this.places.acquire(workspace.id);
    let claim: Awaited<ReturnType<RunningSandboxes['claim']>> | undefined;
    let opened: Awaited<ReturnType<SandboxesService['openPlace']>>;
    try {
      claim = name === undefined ? undefined : await this.running.claim(started, name);
      opened = await this.openPlace(workspace, caller, actions);
    } catch (error) {
      leave();
      await claim?.release();
      throw error;
    }
    const { place, session } = opened;
    const shown = this.running.showing({ ...started, claim }, (stop, measuredBy) => {
      measuredBy(() => session.usage());
      stop.addEventListener('abort', () => void session.end(), { once: true });
      return session.ended;
    });
    void shown
      .finally(leave)
      .then(place.close)
      .catch(error => this.log.warn({ err: error }, 'a session left something behind'));
    return { session, takeRefused: place.takeRefused };
  }

  private async openPlace(
    workspace: Pick<VisibleWorkspace, 'id' | 'number'>,
    caller: SandboxCaller,
    actions: ActionCaller | undefined,
  ): Promise<{ place: PreparedPlace; session: SandboxSession }> {
    const { sandboxMemoryBytes: memoryBytes, sandboxSeconds } = this.config;
    const place = await this.prepare(workspace, caller, actions);
    const limits = { memoryBytes, wallMs: sandboxSeconds * 1000, cpuSeconds: SHELL_CPU_SECONDS };
    try {
      return { place, session: await this.beginSession({ ...place.request, limits }, place.prelude) };
    } catch (error) {
      await place.close();
      throw error;
    }
  }

  private async beginSession(request: SessionRequest, prelude: string): Promise<SandboxSession> {
    const session = await this.driver.openSession(request);
    if (prelude !== '') await session.run({ script: prelude });
    return session;
  }

  /** What is the same for all that runs in a workspace, and what must be taken down after it. */
  private async prepare(
    workspace: Pick<VisibleWorkspace, 'id' | 'number'>,
    caller: SandboxCaller,
    actions: ActionCaller | undefined,
  ): Promise<PreparedPlace> {
    const owner = this.folders.ownerOf(workspace);
    // Without isolation there is a network already.
    const egress = this.driver.isolated
      ? await this.egress.open({ workspaceId: workspace.id, owner, caller })
      : undefined;
    const socket = actions && (await this.sockets.open(actions, owner));
    const shown = socket ? this.showing(socket) : { env: {}, readOnlyBinds: [] };
    const way = egress && wayOut(egress);
    return {
      request: {
        ...{ workspace: this.folders.pathOf(workspace), owner },
        env: { ...shown.env, ...way?.env },
        readOnlyBinds: [...(shown.readOnlyBinds ?? []), ...(way?.readOnlyBinds ?? [])],
      },
      prelude: way ? startRelay(`${this.nodeFolder}/node`, EGRESS_FOLDER) : '',
      takeRefused: () => egress?.takeRefused() ?? [],
      close: async () => {
        await Promise.all([socket?.close(), egress?.close()]);
      },
    };
  }

  /** 503 with what to do about it where no sandbox can be had. */
  private async requireDriver(): Promise<void> {
    const fault = await this.fault();
    if (fault !== null) throw new Unavailable(fault);
  }

  /** Why code cannot run here; null where it can. */
  async fault(): Promise<string | null> {
    const check = await this.driver.check();
    return check.ok ? null : `Code cannot run here: ${check.reason}`;
  }

  /**
   * What a program of the system says about the files, isolated from the host; null where there is no isolation, or no
   * such program, or it says too much. It takes no place: who searches has one by then.
   */
  async look(
    workspace: Pick<VisibleWorkspace, 'id' | 'number'>,
    request: Pick<SandboxRequest, 'argv' | 'cwd' | 'signal'>,
  ): Promise<string | null> {
    if (!this.driver.isolated || !(await this.driver.check()).ok) return null;
    const place = { workspace: this.folders.pathOf(workspace), owner: this.folders.ownerOf(workspace) };
    const result = await this.runIfPossible({ ...request, ...place, limits: LOOK_LIMITS });
    if (!result) return null;
    const { ended_by, exit_code, truncated, stdout, stderr } = result;
    const isComplete = ended_by === 'exit' && exit_code !== null && !truncated && stderr === '';
    return isComplete && exit_code < 127 ? stdout : null;
  }

  /** Null where isolation was there and is there no more, as when a Docker engine stops. */
  private async runIfPossible(request: SandboxRequest): Promise<SandboxResult | null> {
    try {
      return await this.driver.run(request);
    } catch (error) {
      if (!(error instanceof SandboxFailure)) throw error;
      this.log.warn({ err: error }, 'files are looked at without help of programs');
      return null;
    }
  }

  /** Runs a program for the service itself, on a folder of the service's; 503 where no sandbox can be had. */
  async runProgram(request: SandboxRequest): Promise<SandboxResult> {
    const fault = await this.fault();
    if (fault !== null) throw new Unavailable(fault);
    return this.driver.run(request);
  }

  /** What lets a command find the command `actions` and its socket. */
  private showing({ folder }: OpenActionSocket): Pick<SandboxRequest, 'env' | 'readOnlyBinds'> {
    const { isolated } = this.driver;
    const inside = isolated ? ACTIONS_FOLDER : folder;
    const env = {
      PATH: [`${inside}/bin`, this.nodeFolder, ...SYSTEM_PATH].join(':'),
      ACTIONS_SOCKET: `${inside}/actions.sock`,
    };
    return { env, readOnlyBinds: isolated ? [{ from: folder, to: inside }] : [] };
  }
}

/** What lets a command find its way out. */
function wayOut({ folder }: OpenEgress): Required<Pick<SandboxRequest, 'env' | 'readOnlyBinds'>> {
  return { env: proxyVariables(), readOnlyBinds: [{ from: folder, to: EGRESS_FOLDER }] };
}

/** The script, in a bash of its own after what must come before it. */
function argvOf(prelude: string, script: string): string[] {
  if (prelude === '') return ['bash', '-c', script];
  return ['bash', '-c', `${prelude}; exec bash -c "$1"`, 'bash', script];
}
