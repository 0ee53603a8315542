import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { freePort } from '../harness/free-port.js';

/** A Redis of a test's own, with nothing in it. */
export class RedisProcess {
  private constructor(
    readonly port: number,
    private readonly child: ChildProcess,
    private readonly folder: string,
  ) {}

  /** On a port of its own, or on that of one that ended. */
  static async start(given?: number): Promise<RedisProcess> {
    const port = given ?? (await freePort());
    const folder = mkdtempSync(path.join(tmpdir(), 'atelier-redis-'));
    const settings = [
      '--port',
      `${port}`,
      '--bind',
      '127.0.0.1',
      '--dir',
      folder,
      '--save',
      '',
      '--appendonly',
      'no',
    ];
    const child = spawn('redis-server', settings, { stdio: ['ignore', 'pipe', 'inherit'] });
    await new Promise<void>((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', () => reject(new Error('redis-server ended')));
      createInterface({ input: child.stdout }).on('line', line => {
        if (line.includes('Ready to accept connections')) resolve();
      });
    });
    return new RedisProcess(port, child, folder);
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Ends it as a crash would, with all that it held. */
  kill(): Promise<void> {
    return this.end('SIGKILL');
  }

  stop(): Promise<void> {
    return this.end('SIGTERM');
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    const exited = once(this.child, 'exit');
    this.child.kill(signal);
    await exited;
    rmSync(this.folder, { recursive: true, force: true });
  }
}
