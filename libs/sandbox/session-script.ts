import type { SandboxLimits } from './limits.js';
import { OutputCollector } from './output.js';
import { toResult } from './result.js';
import type { EndedBy } from './sandbox.js';
import type { SessionCommand, SessionEnd, SessionResult } from './session.js';
import { startDeadline } from './supervision.js';

/** How often the kernel has refused something. */
interface Refusals {
  memory: number;
  processes: number;
}

/** What a script came to, without the folders of its session. */
export type ScriptResult = Omit<SessionResult, 'cwd' | 'cwd_before'>;

/** One script of a session, from the moment that it is asked for to its result. */
export class SessionScript {
  /** Called with the number of its process when it is to be killed. */
  onKill: (pid: number) => void = () => undefined;
  pid: number | undefined;
  /** Resolves when the program of the session has told its end. */
  readonly reported: Promise<void>;
  private report: () => void = () => undefined;
  readonly startedAt = performance.now();
  private readonly output: OutputCollector;
  private readonly deadline: NodeJS.Timeout | undefined;
  private status: number | null = null;
  private timeLines = 0;
  /** CPU time of all scripts of the session up to its end, in milliseconds. */
  cpuTotal: number | null = null;
  private reason: Exclude<EndedBy, 'exit'> | undefined;
  private fault: { error: unknown } | undefined;

  constructor(
    readonly number: number,
    private readonly command: SessionCommand,
    limits: SandboxLimits,
    private readonly before: Refusals,
  ) {
    this.output = new OutputCollector(limits.outputBytes, command.onOutput);
    this.reported = new Promise(resolve => {
      this.report = resolve;
    });
    this.deadline = startDeadline(command.wallMs ?? limits.wallMs, () => this.end('timeout'));
    command.signal?.addEventListener('abort', this.stop, { once: true });
    if (command.signal?.aborted) this.stop();
  }

  get flooded(): boolean {
    return this.output.flooded;
  }

  /** A line of the session's program. */
  hear(line: string): void {
    const [event, number, value] = line.split(' ');
    if (event === 'started' && Number(number) === this.number) {
      this.pid = Number(value);
      if (this.reason) this.onKill(this.pid);
    } else if (event === 'over' && Number(number) === this.number) this.status = Number(value);
    else if (this.status !== null) this.hearTimes(line);
  }

  /** Its output, or that of others while it runs. */
  add(stream: 'stdout' | 'stderr', bytes: Buffer): void {
    if (this.fault) return;
    try {
      this.output.add(stream, bytes);
    } catch (error) {
      this.fault = { error };
      this.end('stopped');
    }
  }

  /** @param refusals up to now  @param cpuBefore of all scripts before it, in milliseconds */
  result(sessionEnd: SessionEnd | null, refusals: Refusals, cpuBefore: number): ScriptResult {
    for (const stream of ['stdout', 'stderr'] as const) this.output.end(stream);
    if (this.fault) throw this.fault.error;
    const outOfMemory = sessionEnd === 'memory' || refusals.memory > this.before.memory;
    const endedBy = this.reason ?? (outOfMemory ? 'memory' : endedWith(sessionEnd));
    const durationMs = Math.round(performance.now() - this.startedAt);
    const ending = { endedBy, code: null, signal: null, output: this.output, durationMs };
    const refusedProcesses = refusals.processes > this.before.processes;
    return {
      ...toResult(ending, sessionEnd === null ? this.status : null, { refusedProcesses }),
      session_ended: sessionEnd,
      cpu_ms: this.cpuTotal === null ? null : Math.round(this.cpuTotal - cpuBefore),
    };
  }

  close(): void {
    clearTimeout(this.deadline);
    this.command.signal?.removeEventListener('abort', this.stop);
  }

  private readonly stop = (): void => this.end('stopped');

  private end(reason: Exclude<EndedBy, 'exit'>): void {
    this.reason ??= reason;
    if (this.pid !== undefined) this.onKill(this.pid);
  }

  /** What bash's `times` says: a line of itself, then one of the children that it has waited for. */
  private hearTimes(line: string): void {
    this.timeLines++;
    if (this.timeLines < 2) return;
    const spent = Array.from(line.matchAll(/(\d+)m([\d.]+)s/g), ([, minutes, seconds]) => {
      return Number(minutes) * 60_000 + Number(seconds) * 1000;
    });
    this.cpuTotal = spent.reduce((sum, one) => sum + one, 0);
    this.report();
  }
}

function endedWith(end: SessionEnd | null): EndedBy {
  if (end === 'memory' || end === 'output') return end;
  return end === 'ended' ? 'stopped' : 'exit';
}
