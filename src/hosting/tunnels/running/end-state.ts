import type { SandboxResult } from '#libs/sandbox/index.js';
import type { EndState } from '../records/instances.store.js';
import type { ServerExit } from '../records/server-states.js';
import type { ServerRow } from '../records/servers.store.js';

/** After this time, the next crash is retried at once. */
const STEADY_MS = 60_000;
const MAX_DELAY_SECONDS = 60;
export const CRASH_LOOP = { crashes: 10, seconds: 600 };
const MEBIBYTE = 1024 * 1024;

export interface Ended {
  readonly server: Pick<ServerRow, 'restart' | 'restarts'>;
  readonly exit: ServerExit;
  readonly ranMs: number;
  /** Crashes within ten minutes, including this one. */
  readonly crashes: number;
  /** Between 0 and 1. */
  readonly random: number;
}

export function decideEndState({ server, exit, ranMs, crashes, random }: Ended): EndState {
  const { restart } = server;
  if (exit.code === 0 && restart !== 'always') return { state: 'stopped', reason: exit.reason };
  if (restart === 'never') return { state: 'failed', reason: exit.reason };
  if (crashes >= CRASH_LOOP.crashes) {
    const reason = `It ended ${crashes} times within ${CRASH_LOOP.seconds / 60} minutes, and is not started again. ${exit.reason}`;
    return { state: 'failed', reason };
  }
  const restarts = ranMs >= STEADY_MS ? 0 : server.restarts;
  const seconds = Math.min(MAX_DELAY_SECONDS, 2 ** restarts) * (0.8 + 0.4 * random);
  return { state: 'crashed', reason: exit.reason, retryInSeconds: seconds, restarts: restarts + 1 };
}

/** `fault`: why the service ended the program. */
export function describeExit(
  result: Pick<SandboxResult, 'exit_code' | 'signal' | 'ended_by'>,
  {
    memoryBytes,
    fault,
    tail,
    unreached = '',
  }: { memoryBytes: number; fault?: string; tail: string; unreached?: string },
): ServerExit {
  const last = tail.trim() === '' ? '' : ` It printed last:\n${tail.trimEnd()}`;
  const sentence = fault ?? explainExit(result, memoryBytes);
  // A fault of the start has it already.
  const hint = result.exit_code === 0 || sentence.includes(unreached) ? '' : ` ${unreached}`;
  const reason = `${sentence}${hint}${last}`;
  return { code: result.exit_code, signal: result.signal, reason, at: new Date().toISOString() };
}

function explainExit(
  { exit_code, signal, ended_by }: Pick<SandboxResult, 'exit_code' | 'signal' | 'ended_by'>,
  memoryBytes: number,
): string {
  if (ended_by === 'memory')
    return `The program was ended: it needed more than ${Math.floor(memoryBytes / MEBIBYTE)} MiB of memory. Raise memory_bytes, or let it use less.`;
  if (ended_by === 'stopped') return 'The program was ended from outside.';
  if (signal !== null) return `The program was ended by ${signal}.`;
  if (exit_code === 127) return 'The program was not found (exit code 127).';
  return `The program ended with exit code ${exit_code}.`;
}
