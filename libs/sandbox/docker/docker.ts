import { chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SandboxCheck, SandboxDriver } from '../driver.js';
import { SandboxFailure, SandboxRefusal } from '../errors.js';
import { resolveLimits } from '../limits.js';
import { callerUid, checkRequest, effectiveOwner, MIN_OWNER_ID, relativeFolder } from '../request.js';
import { neverStarted, toResult } from '../result.js';
import type { SandboxRequest, SandboxResult } from '../sandbox.js';
import type { SandboxSession, SessionRequest } from '../session.js';
import { type Ending, Supervision } from '../supervision.js';
import { type CommandPlan, DockerCommand } from './command.js';
import { SandboxContainer } from './container.js';
import { type Engine, prepareEngine } from './engine.js';
import type { DockerOptions } from './options.js';
import { openDockerSession } from './session.js';

function toPlan(request: SandboxRequest): CommandPlan {
  checkRequest(request);
  if (request.descriptors?.length) throw new SandboxRefusal('Docker cannot hand descriptors to a command');
  const owner = effectiveOwner(request.owner, callerUid());
  return { request, owner, cwd: relativeFolder(request.cwd), limits: resolveLimits(request.limits) };
}

/** Runs each command in a container of its own. */
export class DockerSandbox implements SandboxDriver {
  readonly name = 'docker';
  readonly isolated = true;
  private engine: Promise<Engine> | undefined;
  private proven: Promise<SandboxCheck> | undefined;

  constructor(private readonly options: DockerOptions) {}

  async check(): Promise<SandboxCheck> {
    this.proven ??= this.probe();
    const answer = await this.proven;
    if (!answer.ok) this.proven = undefined;
    return answer;
  }

  async run(request: SandboxRequest): Promise<SandboxResult> {
    const plan = toPlan(request);
    if (request.signal?.aborted) return neverStarted();
    return execute(await this.prepared(), plan);
  }

  async openSession(request: SessionRequest): Promise<SandboxSession> {
    const plan = toPlan({ ...request, argv: ['bash'] });
    return openDockerSession(await this.prepared(), plan);
  }

  private async prepared(): Promise<Engine> {
    this.engine ??= prepareEngine(this.options, () => this.forget());
    try {
      return await this.engine;
    } catch (error) {
      this.engine = undefined; // what is missing may be there the next time
      throw error;
    }
  }

  /** The engine went away: another may come back, with other properties. */
  private forget(): void {
    this.engine = undefined;
    this.proven = undefined;
  }

  private async probe(): Promise<SandboxCheck> {
    await mkdir(this.options.scratchFolder, { recursive: true });
    const workspace = await mkdtemp(join(this.options.scratchFolder, 'probe-'));
    try {
      const owner = { uid: MIN_OWNER_ID, gid: MIN_OWNER_ID };
      await writeFile(join(workspace, 'shown'), 'the same folder\n');
      if (callerUid() === 0) await chown(workspace, owner.uid, owner.gid);
      const argv = ['cat', 'shown', '/proc/self/status'];
      const { stdout, stderr } = await execute(await this.prepared(), toPlan({ workspace, owner, argv }));
      const missing = this.demands().find(([pattern]) => !pattern.test(stdout));
      return missing ? { ok: false, reason: `${missing[1]} ${stderr}`.trim() } : { ok: true };
    } catch (error) {
      if (error instanceof SandboxFailure) return { ok: false, reason: error.message };
      throw error;
    } finally {
      await rm(workspace, { recursive: true });
    }
  }

  /** What a command must see and say of itself (proc(5)), and what it means if not. */
  private demands(): [RegExp, string][] {
    const without = (what: string) => `The container runs without ${what}, so it must not be used`;
    return [
      [/^the same folder$/m, 'The Docker engine shows commands another folder than the service sees'],
      [/^CapBnd:\s+0+$/m, without('giving up capabilities')],
      [/^NoNewPrivs:\s+1$/m, without('the ban on new privileges')],
      // Another runtime may bring a kernel of its own, which filters in its own way (gVisor).
      ...(this.options.runtime
        ? []
        : [[/^Seccomp:\s+2$/m, without('a system call filter')] as [RegExp, string]]),
    ];
  }
}

async function execute(engine: Engine, plan: CommandPlan): Promise<SandboxResult> {
  const { request, limits } = plan;
  const { workspace, isReadOnly, readOnlyBinds = [] } = request;
  const container = await SandboxContainer.open(engine, { workspace, isReadOnly, readOnlyBinds, limits });
  try {
    if (request.signal?.aborted) return neverStarted();
    const command = await DockerCommand.start(container, engine, plan);
    if (request.onStarted) {
      container.keeper.sample();
      request.onStarted(() => container.keeper.usage());
    }
    return conclude(await new Supervision(command, request, limits).ended(), command);
  } finally {
    await container.kill();
  }
}

function conclude(ending: Ending, command: DockerCommand): SandboxResult {
  if (ending.endedBy !== 'exit') return toResult(ending, null);
  if (command.ranOutOfMemory) return toResult({ ...ending, endedBy: 'memory' }, ending.code);
  command.checkStarted(ending.code, ending.output.text('stdout'));
  return toResult(ending, ending.code, { refusedProcesses: command.refusedProcesses });
}
