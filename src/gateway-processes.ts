import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { Config } from './platform/config/index.js';
import type { Log } from './platform/log/index.js';

/** After the end of a process, before the next one is started in its place. */
const RESTART_MS = 1_000;

/** Starts GATEWAY_PROCESSES processes, all of them on one port, and each again when it ends. */
export class GatewayProcesses {
  private readonly running = new Map<number, ChildProcess>();
  private readonly restarts = new Set<NodeJS.Timeout>();
  private isEnding = false;

  constructor(
    private readonly config: Config,
    private readonly log: Log,
  ) {}

  /** Resolves when all of them listen. */
  async start(): Promise<void> {
    const numbers = Array.from({ length: this.config.gatewayProcesses }, (_, number) => number);
    await Promise.all(numbers.map(number => this.startOne(number)));
  }

  async stop(): Promise<void> {
    this.isEnding = true;
    for (const timer of this.restarts) clearTimeout(timer);
    const children = [...this.running.values()];
    for (const child of children) child.kill('SIGTERM');
    await Promise.all(children.map(child => hasEnded(child) || once(child, 'exit')));
  }

  private async startOne(number: number): Promise<void> {
    const { metricsPort } = this.config;
    const metrics = metricsPort ? { METRICS_PORT: String(metricsPort + number) } : {};
    const env = { ...process.env, ...metrics, GATEWAY_PROCESSES: '1' };
    const child = fork(process.argv[1] ?? '', [], { env });
    this.running.set(number, child);
    child.once('exit', (code, signal) => {
      this.running.delete(number);
      if (this.isEnding) return;
      this.log.error({ code, signal, number }, 'a gateway process ended; another one is started');
      // It keeps this process alive: where all of them ended at once, nothing else does.
      const timer = setTimeout(() => {
        this.restarts.delete(timer);
        void this.startOne(number);
      }, RESTART_MS);
      this.restarts.add(timer);
    });
    // It says when it listens; one that ends before that is started again.
    await Promise.race([once(child, 'message'), once(child, 'exit')]);
  }
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean =>
  exitCode !== null || signalCode !== null;
