import type { SandboxResult } from '#libs/sandbox/index.js';
import { unreachedHost } from '../../workspaces/egress/index.js';

const MAX_LINES = 15;
const MAX_CHARACTERS = 2000;

export interface Ended {
  readonly what: 'install' | 'build';
  readonly command: string;
  readonly result: Pick<SandboxResult, 'exit_code' | 'signal' | 'ended_by' | 'limit'>;
  readonly tail: string;
  /** Refused connections, in sentences. */
  readonly refused: readonly string[];
  readonly limits: { readonly seconds: number; readonly memoryBytes: number; readonly processes: number };
  readonly advice: string;
}

export function explainFailure(ended: Ended): string {
  const lines = lastLines(ended.tail);
  return lines === '' ? explain(ended) : `${explain(ended)}\n\n${lines}`;
}

const names = { install: 'The installation of the dependencies', build: 'The build' };

function explain({ what, command, result, tail, refused, limits, advice }: Ended): string {
  const name = names[what];
  const memory = `${Math.round(limits.memoryBytes / 2 ** 20)} MiB`;
  if (result.ended_by === 'timeout')
    return `${name} took longer than ${duration(limits.seconds)}, which is the most here (${settingOf(what)}).`;
  if (result.ended_by === 'memory')
    return `${name} ran out of memory: it may take ${memory} (memory in SITE_BUILD_LIMITS).`;
  if (/JavaScript heap out of memory|ERR_WORKER_OUT_OF_MEMORY/.test(tail))
    return `${name} ran out of memory: the heap of Node.js was full. Set node_memory to more MiB; all of it may take ${memory} (memory in SITE_BUILD_LIMITS).`;
  if (result.ended_by !== 'exit')
    return `${name} was stopped: by a person, or because sandboxes are turned off in the workspace.`;
  if (/ENOSPC|No space left on device/i.test(tail))
    return `${name} found no space left: on the disk of this installation, or in /tmp, which is small in a build.`;
  if (result.limit === 'fileBytes') return `${name} wrote a file that is too large.`;
  const refusal = refused[0] ?? unreached(what, tail, advice);
  const code = result.signal ?? `exit code ${result.exit_code}`;
  if (refusal) return `${name} needs the network (${code} of "${command}"). ${refusal}`;
  if (result.limit === 'processes' && /EAGAIN|fork|resource temporarily unavailable/i.test(tail))
    return `${name} started more than ${limits.processes} processes and threads at once, which is the most.`;
  if (result.exit_code === 127) return `${name} failed: "${command}" names a program that is not there.`;
  return `${name} failed with ${code} ("${command}").`;
}

/** Host that could not be resolved, according to the log; null if none. */
function unreached(what: Ended['what'], tail: string, advice: string): string | null {
  const host = unreachedHost(tail);
  if (!host) return null;
  const reached = what === 'install' ? 'is not one of those' : 'cannot be';
  return `It asked for ${host}, which ${reached} reached. ${advice}`;
}

function settingOf(what: Ended['what']): string {
  return what === 'install' ? 'install_seconds in SITE_BUILD_LIMITS' : 'build_seconds in SITE_BUILD_LIMITS';
}

function duration(seconds: number): string {
  return seconds % 60 === 0 ? `${seconds / 60} minutes` : `${seconds} seconds`;
}

function lastLines(text: string): string {
  const lines = text.trimEnd().split('\n').slice(-MAX_LINES);
  return lines.join('\n').slice(-MAX_CHARACTERS).toWellFormed();
}
