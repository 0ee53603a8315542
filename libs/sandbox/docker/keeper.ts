import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import type { SandboxUsage } from '../sandbox.js';
import type { OutputFrames } from './output-frames.js';

/** What all processes of a container hold, have used and were refused, as its control group counts. */
export interface Counts {
  memoryBytes: number;
  cpuMs: number;
  processes: number;
  memoryKills: number;
  refusedProcesses: number;
}

const nothing: Counts = { memoryBytes: 0, cpuMs: 0, processes: 0, memoryKills: 0, refusedProcesses: 0 };

/** File, key in it (none: the file is a number), count, and what one is worth; of control groups v2, then v1. */
const sources: [file: string, key: string, count: keyof Counts, divisor: number][] = [
  ['memory.current', '', 'memoryBytes', 1],
  ['memory/memory.usage_in_bytes', '', 'memoryBytes', 1],
  ['memory.events', 'oom_kill', 'memoryKills', 1],
  ['memory/memory.oom_control', 'oom_kill', 'memoryKills', 1],
  ['cpu.stat', 'usage_usec', 'cpuMs', 1000],
  ['cpuacct/cpuacct.usage', '', 'cpuMs', 1_000_000],
  ['pids.current', '', 'processes', 1],
  ['pids/pids.current', '', 'processes', 1],
  ['pids.events', 'max', 'refusedProcesses', 1],
  ['pids/pids.events', 'max', 'refusedProcesses', 1],
];

/**
 * What a container runs for as long as it lasts: it ends when its input does, which the engine closes when the service
 * is gone; and to each line it answers with what the control group counts. Of builtins only: a command may have used up
 * all processes.
 */
export const keeperProgram = [
  'find() { [ -r "$1" ] && while read -r name value; do',
  '  if [ -z "$2" ]; then echo "$3 $name"; elif [ "$name" = "$2" ]; then echo "$3 $value"; fi',
  'done <"$1"; }',
  'while read -r question; do',
  ...sources.map(([file, key], at) => `find /sys/fs/cgroup/${file} '${key}' ${at}`),
  '  echo .',
  'done',
].join('\n');

const SAMPLE_MS = 1000;

/** The connection to the first process of a container. */
export class Keeper {
  private answer = '';
  private turn: Promise<unknown> = Promise.resolve();
  private sampling: NodeJS.Timeout | undefined;
  /** What it said last. */
  latest = nothing;

  constructor(
    private readonly connection: Duplex,
    private readonly output: OutputFrames,
  ) {
    output.stdout.setEncoding('utf8').on('data', (part: string) => {
      this.answer += part;
    });
    output.stderr.resume();
    connection.on('error', () => undefined); // it shows in the end of the container
  }

  /** What it counts now; what it said last if it is no more. */
  counts(): Promise<Counts> {
    const answered = this.turn.then(() => this.ask());
    this.turn = answered;
    return answered;
  }

  /** Counts from time to time, so that `usage` is never older than a second. */
  sample(): void {
    this.sampling ??= setInterval(() => void this.counts(), SAMPLE_MS).unref();
  }

  usage(): SandboxUsage {
    const { memoryBytes, cpuMs, processes } = this.latest;
    return { memory_bytes: memoryBytes, cpu_ms: Math.round(cpuMs), processes, unlinkedBytes: () => 0 };
  }

  /** With it, the container ends. */
  release(): void {
    clearInterval(this.sampling);
    this.connection.destroy();
  }

  private async ask(): Promise<Counts> {
    const { stdout } = this.output;
    this.answer = '';
    if (!this.connection.writable) return this.latest;
    this.connection.write('?\n');
    while (!this.answer.endsWith('.\n')) {
      if (stdout.readableEnded || stdout.destroyed) return this.latest;
      await Promise.race([once(stdout, 'data'), once(stdout, 'close')]);
    }
    this.latest = parse(this.answer);
    return this.latest;
  }
}

function parse(answer: string): Counts {
  const counts = { ...nothing };
  for (const [, at, value] of answer.matchAll(/^(\d+) (\d+)$/gm)) {
    const source = sources[Number(at)];
    if (source) counts[source[2]] = Number(value) / source[3];
  }
  return counts;
}
