import { chownSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { codeOfUnstartable, explainBubblewrap, installBubblewrap } from './bubblewrap-advice.js';
import { type Attach, BubblewrapProcess } from './bubblewrap-process.js';
import { type ControlGroup, ControlGroups } from './control-groups.js';
import { InheritedDescriptors } from './descriptors.js';
import { SandboxFailure } from './errors.js';
import { resolveLimits, type SandboxLimits } from './limits.js';
import { watchMemory } from './memory-watch.js';
import { PipePool } from './pipes.js';
import { prlimitArguments, processBound } from './process-limits.js';
import { encodeEnvironment, Profile } from './profile.js';
import { findProgram } from './programs.js';
import { callerUid, checkRequest, effectiveOwner, LEAST_OWNER_ID, relativeFolder } from './request.js';
import { neverStarted, toResult } from './result.js';
import type {
  Owner,
  SandboxCheck,
  SandboxDriver,
  SandboxOptions,
  SandboxRequest,
  SandboxResult,
} from './sandbox.js';
import { hasSeccompFilter, seccompFilter } from './seccomp.js';
import { StandardStreams } from './streams.js';
import { type Ending, Supervision } from './supervision.js';

/** What is found out about the host, or made, once. */
interface Host {
  bwrap: string;
  prlimit: string;
  pipes: PipePool;
  inherited: InheritedDescriptors;
  profile: Profile;
  groups: ControlGroups;
  filter: Buffer;
}

/** A command with everything that was decided about it. */
interface Plan {
  request: SandboxRequest;
  cwd: string;
  limits: SandboxLimits;
  owner: Owner | undefined;
}

/** Runs each command in a bubblewrap sandbox of its own. */
export class BubblewrapSandbox implements SandboxDriver {
  readonly name = 'bubblewrap';
  readonly isolated = true;
  private host: Host | undefined;
  private proven: Promise<SandboxCheck> | undefined;

  constructor(private readonly options: SandboxOptions = {}) {}

  async check(): Promise<SandboxCheck> {
    this.proven ??= this.probe();
    const answer = await this.proven;
    if (!answer.ok) this.proven = undefined;
    return answer;
  }

  async run(request: SandboxRequest): Promise<SandboxResult> {
    checkRequest(request);
    const plan = {
      request,
      cwd: relativeFolder(request.cwd),
      limits: resolveLimits(request.limits),
      owner: effectiveOwner(request.owner, callerUid()),
    };
    if (request.signal?.aborted) return neverStarted();
    this.host ??= prepare(this.options);
    const group = this.host.groups.create(plan.limits);
    try {
      return await execute(this.host, group, plan);
    } finally {
      group.remove();
    }
  }

  private async probe(): Promise<SandboxCheck> {
    const workspace = mkdtempSync(join(tmpdir(), 'sandbox-probe-'));
    try {
      const owner = { uid: LEAST_OWNER_ID, gid: LEAST_OWNER_ID };
      if (callerUid() === 0) chownSync(workspace, owner.uid, owner.gid);
      const { stdout, stderr } = await this.run({ workspace, owner, argv: ['cat', '/proc/self/status'] });
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

function prepare(options: SandboxOptions): Host {
  if (process.platform !== 'linux' || !hasSeccompFilter(process.arch)) {
    throw new SandboxFailure(
      'bubblewrap needs Linux on x64 or arm64: run the service there, or in a virtual machine',
    );
  }
  const program = (name: string): string => {
    const path = findProgram(name, options.programFolders);
    if (path) return path;
    throw new SandboxFailure(
      name === 'bwrap' ? installBubblewrap : `${name} is missing: install util-linux and coreutils`,
    );
  };
  const groups = ControlGroups.detect();
  return {
    bwrap: program('bwrap'),
    prlimit: program('prlimit'),
    pipes: new PipePool(program('mkfifo')),
    inherited: new InheritedDescriptors(),
    profile: new Profile(options.readOnlyBinds ?? []),
    groups,
    filter: seccompFilter(process.arch, { refuseUncountedMemory: !groups.counts('memory') }),
  };
}

async function execute(host: Host, group: ControlGroup, plan: Plan): Promise<SandboxResult> {
  const { request, limits, owner } = plan;
  const streams = await StandardStreams.open(host.pipes, request.stdin, owner);
  const launch = {
    ...{ streams, descriptors: request.descriptors ?? [], inherited: host.inherited, owner },
    ...{ group, filter: host.filter, commandLine: (attach: Attach) => commandLine(host, plan, attach) },
  };
  const running = BubblewrapProcess.start(launch, error => supervision.fail(error));
  const supervision = new Supervision(running, request, limits);
  const stopWatching = host.groups.counts('memory') ? undefined : watch(running, supervision, limits);
  try {
    const ending = await supervision.ended();
    return conclude(ending, group, await running.status.exitCode(), request.workspace);
  } finally {
    stopWatching?.();
  }
}

function commandLine({ bwrap, prlimit, profile, groups }: Host, plan: Plan, attach: Attach): string[] {
  const { request, limits, owner, cwd } = plan;
  const place = { workspace: request.workspace, cwd, readOnlyBinds: request.readOnlyBinds ?? [], limits };
  const processes = groups.counts('pids') ? undefined : processBound(limits, owner?.uid ?? callerUid());
  const hasEnvironment = Object.keys(request.env ?? {}).length > 0;
  return [
    ...[prlimit, ...prlimitArguments(limits, processes), '--', bwrap],
    ...profile.arguments(place, attach.descriptor),
    ...(hasEnvironment ? ['--args', String(attach.text(encodeEnvironment(request.env ?? {})))] : []),
    ...['--seccomp', String(attach.gate), '--json-status-fd', String(attach.status)],
    ...['--', ...request.argv],
  ];
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
  if (exitCode !== undefined || ending.signal) return toResult(ending, exitCode ?? null);
  const said = ending.output.text('stderr');
  const code = codeOfUnstartable(said);
  if (code === undefined) throw explainBubblewrap(said, workspace);
  return toResult(ending, code);
}
