import type { Berth, BerthNumbers } from './berth.js';
import type { BubblewrapHost } from './bubblewrap-host.js';
import { BubblewrapProcess } from './bubblewrap-process.js';
import { resolveLimits, type SandboxLimits } from './limits.js';
import { limitCommands, processBound } from './process-limits.js';
import { callerUid, checkRequest, effectiveOwner, relativeFolder } from './request.js';
import type { Owner, SandboxRequest } from './sandbox.js';
import { quoteWords } from './shell.js';

/** A command with everything that was decided about it. */
export interface Plan {
  request: SandboxRequest;
  cwd: string;
  limits: SandboxLimits;
  owner: Owner | undefined;
}

export function toPlan(request: SandboxRequest): Plan {
  checkRequest(request);
  const owner = effectiveOwner(request.owner, callerUid());
  return { request, owner, cwd: relativeFolder(request.cwd), limits: resolveLimits(request.limits) };
}

interface Streams {
  /** Path of what becomes standard input. */
  input?: string;
  /** Whether the command is the program of a session, and is spoken to. */
  controlled?: boolean;
}

/** Puts bwrap with the command in the place of a berth's shell. */
export function startBubblewrap(
  host: BubblewrapHost,
  plan: Plan,
  berth: Berth,
  streams: Streams,
): BubblewrapProcess {
  try {
    berth.group.confine(plan.limits);
    const script = startScript(host, plan, berth.numbers, streams);
    const options = bwrapOptions(host, plan, berth.numbers);
    return new BubblewrapProcess(berth, { script, options, filter: host.filter }, host.lastWill);
  } catch (error) {
    berth.close();
    throw error;
  }
}

/** Confines the shell of a berth, opens the input and puts bwrap in the shell's place. */
function startScript(
  host: BubblewrapHost,
  plan: Plan,
  numbers: BerthNumbers,
  { input = '/dev/null', controlled = false }: Streams,
): string {
  const { request, limits, owner } = plan;
  const processes = host.groups.counts('pids') ? undefined : processBound(limits, owner?.uid ?? callerUid());
  const bwrap = quoteWords([host.bwrap, '--args', String(numbers.options), '--', ...request.argv]);
  const closing = controlled || numbers.control === undefined ? '' : ` ${numbers.control}>&-`;
  return `${limitCommands(limits, processes)}\nexec ${bwrap} <${quoteWords([input])}${closing}`;
}

function bwrapOptions(
  { profile }: BubblewrapHost,
  { request, limits, cwd }: Plan,
  numbers: BerthNumbers,
): string[] {
  const { workspace, isReadOnly, readOnlyBinds = [], env = {} } = request;
  return [
    ...profile.arguments(
      { workspace, isReadOnly, cwd, readOnlyBinds, env, limits },
      numbers.files,
      numbers.progress,
    ),
    '--seccomp',
    String(numbers.gate),
    '--json-status-fd',
    String(numbers.status),
  ];
}
