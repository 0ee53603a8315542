import { Worker } from 'node:worker_threads';

/** A function that a module exports. */
export interface Task {
  /** The address of the module, which plain Node can load. */
  readonly module: string;
  readonly name: string;
}

/** A call was not over in time. */
export class TookTooLong extends Error {}

/** Loads modules as they are asked for; says when it begins, so that loading takes none of the time of a call. */
const PROGRAM = `
const { parentPort } = require('node:worker_threads');
parentPort.on('message', async ({ module, name, input }) => {
  try {
    const { [name]: work } = await import(module);
    parentPort.postMessage({ begun: true });
    parentPort.postMessage({ value: await work(input) });
  } catch (error) {
    parentPort.postMessage({ fault: error instanceof Error ? error.message : String(error) });
  }
});
`;

/** Time for a thread to start and to load a module, on a busy machine. */
const START_MS = 30_000;

interface Message {
  readonly begun?: true;
  readonly fault?: string;
  readonly value?: unknown;
}

/** One worker thread; does one call at a time. */
export class PoolThread {
  private readonly worker: Worker;
  private onMessage: (message: Message) => void = () => undefined;
  private onLoss: (error: Error) => void = () => undefined;
  /** It has ended, or must not be used again. */
  lost = false;

  constructor(memoryMb: number) {
    this.worker = new Worker(PROGRAM, {
      eval: true,
      execArgv: [],
      // Otherwise a write to our own output that fails would be a failure of theirs. Libraries print there, nothing of ours.
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: memoryMb },
    });
    this.worker.stdout.resume();
    this.worker.stderr.resume();
    this.worker.unref();
    this.worker.on('message', message => this.onMessage(message));
    this.worker.on('error', error => this.lose(error as Error));
    this.worker.on('exit', () => this.lose(new Error('The worker thread has ended')));
  }

  async call(task: Task, input: unknown, ms: number): Promise<unknown> {
    // A caller waits for it, so the process must not end meanwhile.
    this.worker.ref();
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise((resolve, reject) => {
        const endIn = (after: number) => {
          clearTimeout(timer);
          timer = setTimeout(() => {
            reject(new TookTooLong(`It took more than ${after} ms`));
            void this.end();
          }, after);
        };
        this.onLoss = reject;
        this.onMessage = ({ begun, fault, value }) => {
          if (begun) endIn(ms);
          else if (fault === undefined) resolve(value);
          else reject(new Error(fault));
        };
        endIn(START_MS);
        this.worker.postMessage({ ...task, input });
      });
    } finally {
      clearTimeout(timer);
      this.worker.unref();
    }
  }

  async end(): Promise<void> {
    this.lost = true;
    await this.worker.terminate();
  }

  private lose(error: Error): void {
    this.lost = true;
    this.onLoss(error);
  }
}
