import { chownSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { codeOfUnstartable, explainBubblewrap } from './bubblewrap-advice.js';
import { type BubblewrapHost, prepareHost } from './bubblewrap-host.js';
import type { BubblewrapProcess } from './bubblewrap-process.js';
import { openBubblewrapSession } from './bubblewrap-session.js';
import { type Plan, startBubblewrap, toPlan } from './bubblewrap-start.js';
import type { ControlGroup } from './control-group.js';
import type { SandboxCheck, SandboxDriver } from './driver.js';
import { SandboxFailure } from './errors.js';
import { InputFile } from './input-file.js';
import type { SandboxLimits } from './limits.js';
import { watchMemory } from './memory-watch.js';
import { callerUid, MIN_OWNER_ID } from './request.js';
import { neverStarted, toResult } from './result.js';
import type { SandboxOptions, SandboxRequest, SandboxResult } from './sandbox.js';
import type { SandboxSession, SessionRequest } from './session.js';
import { SessionProcesses } from './session-processes.js';
import { type Ending, Supervision } from './supervision.js';

/** Runs each command in a bubblewrap sandbox of its own. */
export class BubblewrapSandbox implements SandboxDriver {
  readonly name = 'bubblewrap';
  readonly isolated = true;
  private host: Promise<BubblewrapHost> | undefined;
  private proven: Promise<SandboxCheck> | undefined;

  constructor(private readonly options: SandboxOptions = {}) {}

  async check(): Promise<SandboxCheck> {
    this.proven ??= this.probe();
    const answer = await this.proven;
    if (!answer.ok) this.proven = undefined;
    return answer;
  }

  async run(request: SandboxRequest): Promise<SandboxResult> {
    const plan = toPlan(request);
    if (request.signal?.aborted) return neverStarted();
    const host = await this.prepared();
    try {
      return await execute(host, plan);
    } finally {
      host.berths.replenish(plan.owner);
    }
  }

  async openSession(request: SessionRequest): Promise<SandboxSession> {
    const plan = toPlan({ ...request, argv: ['bash'] });
    const host = await this.prepared();
    try {
      return await openBubblewrapSession(host, plan);
    } finally {
      host.berths.replenish(plan.owner);
    }
  }

  private async prepared(): Promise<BubblewrapHost> {
    this.host ??= prepareHost(this.options);
    try {
      return await this.host;
    } catch (error) {
      this.host = undefined; // what is missing may be there the next time
      throw error;
    }
  }

  private async probe(): Promise<SandboxCheck> {
    const workspace = mkdtempSync(join(tmpdir(), 'sandbox-probe-'));
    try {
      const owner = { uid: MIN_OWNER_ID, gid: MIN_OWNER_ID };
      if (callerUid() === 0) chownSync(workspace, owner.uid, owner.gid);
      const { stdout, stderr } = await execute(
        await this.prepared(),
        toPlan({ workspace, owner, argv: ['cat', '/proc/self/status'] }),
      );
      const missing = protections.find(([pattern]) => !pattern.test(stdout));
      if (!missing) return { ok: true };
      return {
        ok: false,
        reason: `The sandbox runs without ${missing[1]}, so it must not be used ${stderr}`.trim(),
      };
    } catch (error) {
      if (error instanceof SandboxFailure) return { ok: false, reason: error.message };
      throw error;
    } finally {
      rmSync(workspace, { recursive: true });
    }
  }
}

/** What a process inside must say of itself (proc(5)). */
const protections: [RegExp, string][] = [
  [/^Uid:\s+1000\s+1000\s+1000\s+1000$/m, 'a user of its own'],
  [/^CapBnd:\s+0+$/m, 'giving up capabilities'],
  [/^NoNewPrivs:\s+1$/m, 'the ban on new privileges'],
  [/^Seccomp:\s+2$/m, 'its system call filter'],
];

async function execute(host: BubblewrapHost, plan: Plan): Promise<SandboxResult> {
  const { request, limits, owner } = plan;
  const input = request.stdin === undefined ? undefined : await InputFile.create(request.stdin, owner);
  try {
    const berth = await host.berths.take(owner, request.descriptors ?? []);
    const running = startBubblewrap(host, plan, berth, { input: input?.path });
    const processes = new SessionProcesses(() => running.firstProcess);
    request.onStarted?.(() => processes.usage());
    const supervision = new Supervision(running, request, limits);
    const stopWatching = host.groups.counts('memory') ? undefined : watch(running, supervision, limits);
    try {
      const ending = await supervision.ended();
      return conclude(ending, berth.group, await running.exitCode(), request.workspace);
    } finally {
      stopWatching?.();
      berth.leave();
    }
  } finally {
    await input?.remove();
  }
}

function watch(running: BubblewrapProcess, supervision: Supervision, limits: SandboxLimits): () => void {
  // bwrap's own processes hold next to nothing, so the tree may be measured from the outermost.
  return watchMemory(running.child.pid ?? 0, limits.memoryBytes, () => supervision.end('memory'));
}

function conclude(
  ending: Ending,
  group: ControlGroup,
  exitCode: number | undefined,
  workspace: string,
): SandboxResult {
  if (ending.endedBy !== 'exit') return toResult(ending, null);
  if (group.ranOutOfMemory()) return toResult({ ...ending, endedBy: 'memory' }, exitCode ?? null);
  const refusedProcesses = group.refusedProcesses() > 0;
  if (exitCode !== undefined || ending.signal)
    return toResult(ending, exitCode ?? null, { refusedProcesses });
  const said = ending.output.text('stderr');
  const code = codeOfUnstartable(said);
  if (code === undefined) throw explainBubblewrap(said, workspace);
  return toResult(ending, code);
}
