import type { Duplex } from 'node:stream';
import { SandboxFailure } from './errors.js';
import { exited } from './exited.js';
import type { SandboxLimits } from './limits.js';
import type { LocalProcess } from './local-process.js';
import { watchMemory } from './memory-watch.js';
import { PipeSocket } from './pipe-socket.js';
import type { SandboxSession } from './session.js';
import type { SessionFolder } from './session-folder.js';
import { SessionProcesses } from './session-processes.js';
import { ShellSession } from './shell-session.js';

/** Number of the descriptor on which the program of a session is spoken to. */
export const CONTROL = 3;

/** A session of plain processes; what leaves its tree (daemons) outlives it, unlike in a sandbox. */
export async function openLocalSession(
  running: LocalProcess,
  folder: SessionFolder,
  limits: SandboxLimits,
  signal: AbortSignal | undefined,
): Promise<SandboxSession> {
  const { child, stdout, stderr } = running;
  if (!(stdout instanceof PipeSocket && stderr instanceof PipeSocket))
    throw new Error('A session must have pipes for its output');
  const processes = new SessionProcesses(() => child.pid);
  const place = {
    stdout,
    stderr,
    folder,
    control: child.stdio[CONTROL] as Duplex,
    kill: () => running.kill(),
    dead: exited(child).finally(() => folder.remove()),
    signal: (pid: number, name: NodeJS.Signals) => processes.signal(pid, name),
    killScript: (pid: number, since: number) => processes.killScript(pid, since),
    refusals: () => ({ memory: 0, processes: 0 }),
    usage: () => processes.usage(),
    // What leaves the tree is lost sight of.
    hasOthers: () => true,
  };
  const session = new ShellSession(place, limits, signal);
  const stopWatching = watchMemory(child.pid ?? 0, limits.memoryBytes, () => session.outOfMemory());
  void session.ended.then(stopWatching);
  const said = await session.opened();
  if (said !== undefined) throw new SandboxFailure(`No session could be opened: ${said}`);
  return session;
}
