import { killIfThere } from './kill.js';
import {
  childrenOf,
  cpuMs,
  heldBytes,
  outerNumber,
  processTree,
  startedBy,
  unlinkedBytes,
} from './process-tree.js';
import type { SandboxUsage } from './sandbox.js';

/** So often what a script started is looked for and killed; what multiplies faster takes the session with it. */
const ROUNDS = 8;

/** The processes of a session, seen from the host. Numbers are those of inside, as its program tells them. */
export class SessionProcesses {
  /** @param root number on the host of the first process inside, which takes over orphans */
  constructor(private readonly root: () => number | undefined) {}

  /** To a script and what it runs in the foreground. */
  signal(inside: number, signal: NodeJS.Signals): void {
    const pid = this.find(inside);
    if (pid !== undefined) sendIfThere(-pid, signal);
  }

  /** @param since when it began, by `performance.now()`; its process may be older */
  killScript(inside: number, since: number): void {
    const { root } = this;
    const [first, pid] = [root(), this.find(inside)];
    if (first === undefined || pid === undefined) return;
    // The script itself last, as without it its descendants could not be found; and meanwhile it must not go on.
    sendIfThere(pid, 'SIGSTOP');
    for (let round = 0; round < ROUNDS; round++) {
      const others = startedBy(pid, first, since).filter(one => one !== pid);
      if (others.length === 0) break;
      for (const one of others) killIfThere(one);
    }
    killIfThere(pid);
  }

  usage(): SandboxUsage {
    const first = this.root();
    const pids = first === undefined ? [] : processTree(first);
    const memory = pids.reduce((sum, pid) => sum + heldBytes(pid), 0);
    return {
      memory_bytes: memory,
      cpu_ms: cpuMs(pids),
      processes: pids.length,
      unlinkedBytes: device => unlinkedBytes(pids, device),
    };
  }

  /** Whether the first process has taken over any beside its own child, the program of the session. */
  hasOrphans(): boolean {
    const first = this.root();
    return first !== undefined && childrenOf(first).length > 1;
  }

  private find(inside: number): number | undefined {
    const first = this.root();
    return first === undefined ? undefined : outerNumber(first, inside);
  }
}

function sendIfThere(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
