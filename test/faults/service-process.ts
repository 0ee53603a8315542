import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Json } from '../harness/client.js';
import { baseEnvironment, SERVICE } from '../harness/command.js';
import type { TestService } from '../harness/service.js';

/** One process of the service, built, on the database and the files of a test's service. */
export class ServiceProcess {
  /** What it logged, parsed. */
  readonly lines: Json[] = [];
  private readonly exited: Promise<unknown>;

  private constructor(private readonly child: ChildProcess) {
    this.exited = once(child, 'exit');
  }

  /** Resolves when the process works, or listens. */
  static async start(
    service: Pick<TestService, 'database' | 'dataDir'>,
    environment: Record<string, string>,
  ): Promise<ServiceProcess> {
    const child = spawn(process.execPath, [SERVICE], {
      env: {
        ...baseEnvironment(),
        DATABASE_URL: service.database.url,
        DATA_DIR: service.dataDir,
        HOST: '127.0.0.1',
        LOG_FORMAT: 'json',
        ...environment,
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const started = new ServiceProcess(child);
    await started.ready();
    return started;
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  get isRunning(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** What it holds in memory, in bytes. */
  get memory(): number {
    const [, kibibytes] =
      /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${this.child.pid}/status`, 'utf8')) ?? [];
    return Number(kibibytes) * 1024;
  }

  /** Ends it as a crash or a power cut would. */
  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.exited;
  }

  /** Stops it as a debugger, or a machine that sleeps, would. */
  pause(): void {
    this.child.kill('SIGSTOP');
  }

  resume(): void {
    this.child.kill('SIGCONT');
  }

  /** Asks it to end; returns its exit code. */
  async stop(): Promise<number | null> {
    if (this.isRunning) {
      this.child.kill('SIGTERM');
      await this.exited;
    }
    return this.child.exitCode;
  }

  /** What it logged as a fault of its own. */
  get errors(): Json[] {
    return this.lines.filter(({ level }) => level === 'error');
  }

  private ready(): Promise<void> {
    const { stdout } = this.child;
    return new Promise((resolve, reject) => {
      if (stdout)
        createInterface({ input: stdout }).on('line', text => {
          if (!text.startsWith('{')) return;
          const line = JSON.parse(text);
          this.lines.push(line);
          if (line.msg === 'working' || line.msg === 'listening') resolve();
        });
      void this.exited.then(() => reject(new Error(`it ended: ${JSON.stringify(this.lines)}`)));
    });
  }
}
