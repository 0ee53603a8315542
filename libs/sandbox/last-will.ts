import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';

/** Keeps the list as lines come in; when they end, the service has ended, and every process on the list is killed. */
const script = `
alive=' '
while read -r event pid; do
  case $event in
    started) alive="$alive$pid " ;;
    ended) alive="\${alive%% $pid *} \${alive#* $pid }" ;;
  esac
done
for pid in $alive; do kill -KILL "$pid" 2>/dev/null; done
`;

/**
 * A process that outlives the service by a moment and kills what the service can no longer kill.
 *
 * The kernel ends a sandbox with bwrap and bwrap with us, but only once both have asked it to; a service that
 * is killed while a sandbox is being built would leave an orphan without limits.
 */
export class LastWill {
  private readonly alive = new Set<number>();
  private executor: ChildProcess | undefined;

  /** From here on the process is killed if we end. What is written before something else is known before it. */
  add(pid: number): void {
    this.alive.add(pid);
    this.write(`started ${pid}\n`);
  }

  /** To be called once the process has ended: its number may soon be another's. */
  remove(pid: number): void {
    if (this.alive.delete(pid)) this.write(`ended ${pid}\n`);
  }

  private write(line: string): void {
    const isAtWork = this.executor?.exitCode === null && this.executor.signalCode === null;
    if (isAtWork) this.executor?.stdin?.write(line);
    else this.appoint();
  }

  /** Starts the process, or another if someone has killed it. */
  private appoint(): void {
    // In a session of its own, so that an interrupt from a terminal leaves it to do its work.
    const executor = spawn('/bin/sh', ['-c', script], {
      env: {},
      cwd: '/',
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    // Whatever these report, it shows as not at work, and the next line appoints another.
    executor.on('error', () => undefined);
    executor.stdin.on('error', () => executor.stdin.destroy());
    for (const pid of this.alive) executor.stdin.write(`started ${pid}\n`);
    executor.unref();
    (executor.stdin as Socket).unref();
    this.executor = executor;
  }
}
