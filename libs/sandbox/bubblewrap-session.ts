import { join } from 'node:path';
import type { Berth } from './berth.js';
import { explainBubblewrap } from './bubblewrap-advice.js';
import type { BubblewrapHost } from './bubblewrap-host.js';
import type { BubblewrapProcess } from './bubblewrap-process.js';
import { type Plan, startBubblewrap } from './bubblewrap-start.js';
import { exited } from './exited.js';
import { watchMemory } from './memory-watch.js';
import { WORKSPACE } from './profile.js';
import type { SandboxSession } from './session.js';
import { SessionFolder } from './session-folder.js';
import { SessionProcesses } from './session-processes.js';
import { firstState, sessionProgram } from './session-shell.js';
import { type SessionPlace, ShellSession } from './shell-session.js';

/** Where a session finds its scripts, inside. */
const FOLDER = '/run/session';

/** Opens a sandbox whose command is the program of a session. */
export async function openBubblewrapSession(host: BubblewrapHost, plan: Plan): Promise<SandboxSession> {
  const { request, owner, cwd } = plan;
  const env = { ...host.profile.variables, ...request.env };
  const state = firstState(env, WORKSPACE, join(WORKSPACE, cwd));
  const [folder, berth] = await Promise.all([
    SessionFolder.create(host.mkfifo, owner, state),
    host.berths.take(owner, []),
  ]);
  const control = berth.numbers.control;
  if (control === undefined) throw new Error('A berth for a session must have a control descriptor');
  const argv = sessionProgram(FOLDER, { hear: control, tell: control });
  const readOnlyBinds = [...(request.readOnlyBinds ?? []), { from: folder.path, to: FOLDER }];
  // Its variables are those of its scripts, and on no descriptor of bwrap.
  const whole = { ...plan, request: { ...request, env: {}, argv, readOnlyBinds } };
  const running = startBubblewrap(host, whole, berth, { controlled: true });
  const session = new ShellSession(placeOf(running, berth, folder, control), plan.limits, request.signal);
  if (!host.groups.counts('memory')) {
    const { memoryBytes } = plan.limits;
    const stopWatching = watchMemory(running.child.pid ?? 0, memoryBytes, () => session.outOfMemory());
    void session.ended.then(stopWatching);
  }
  const said = await session.opened();
  if (said !== undefined) throw explainBubblewrap(said, request.workspace);
  return session;
}

function placeOf(
  running: BubblewrapProcess,
  berth: Berth,
  folder: SessionFolder,
  control: number,
): SessionPlace {
  const { stdout, stderr, child } = running;
  const processes = new SessionProcesses(() => running.firstProcess);
  const count = () => ({ memory: berth.group.memoryKills(), processes: berth.group.refusedProcesses() });
  let last: ReturnType<typeof count> | undefined;
  const takeDown = async (): Promise<void> => {
    last = count();
    berth.leave();
    await folder.remove();
  };
  return {
    stdout,
    stderr,
    folder,
    control: berth.socket(control),
    kill: () => running.end(),
    dead: exited(child).then(takeDown),
    signal: (pid, signal) => processes.signal(pid, signal),
    killScript: (pid, since) => processes.killScript(pid, since),
    refusals: () => last ?? count(),
    usage: () => processes.usage(),
    hasOthers: () => processes.hasOrphans(),
  };
}
