import { constants } from 'node:os';
import type { SandboxLimits } from './limits.js';
import type { SandboxResult } from './sandbox.js';
import type { Ending } from './supervision.js';

/** Some numbers have two names; the usual one comes first and so must be set last. */
const signalNames = new Map(
  Object.entries(constants.signals)
    .reverse()
    .map(([name, number]) => [number, name]),
);

/** Puts an ending into the shape that callers see. */
export function toResult(
  ending: Ending,
  exitCode: number | null,
  { refusedProcesses = false } = {},
): SandboxResult {
  const fromOutside = ending.endedBy !== 'exit' && ending.endedBy !== 'memory';
  const code = fromOutside ? null : exitCode;
  const signal = code === null ? (ending.signal ?? 'SIGKILL') : signalOf(code);
  const limit = limitOf(ending, signal) ?? (refusedProcesses ? 'processes' : null);
  return {
    exit_code: code,
    signal,
    ended_by: limit === 'cpuSeconds' ? 'timeout' : ending.endedBy,
    limit,
    stdout: ending.output.text('stdout'),
    stderr: ending.output.text('stderr'),
    output: ending.output.text(),
    truncated: ending.output.truncated,
    duration_ms: ending.durationMs,
  };
}

/** The answer to a request whose signal was aborted before anything started. */
export function neverStarted(): SandboxResult {
  const nothing = { limit: null, stdout: '', stderr: '', output: '', truncated: false, duration_ms: 0 };
  return { exit_code: null, signal: null, ended_by: 'stopped', ...nothing };
}

/** Shells report a child's death by signal n as 128 + n, and so does the sandbox's first process. */
function signalOf(code: number): string | null {
  return code > 128 ? (signalNames.get(code - 128) ?? null) : null;
}

const limitsReached = { timeout: 'wallMs', memory: 'memoryBytes', output: 'outputBytes' } as const;

function limitOf({ endedBy, output }: Ending, signal: string | null): keyof SandboxLimits | null {
  if (endedBy === 'stopped') return null;
  if (endedBy !== 'exit') return limitsReached[endedBy];
  if (signal === 'SIGXCPU') return 'cpuSeconds';
  if (signal === 'SIGXFSZ') return 'fileBytes';
  return output.truncated ? 'outputBytes' : null;
}
