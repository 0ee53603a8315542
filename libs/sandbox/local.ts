import { spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { constants } from 'node:os';
import { dirname, join, sep } from 'node:path';
import type { Stdio } from './descriptors.js';
import type { SandboxCheck, SandboxDriver } from './driver.js';
import { SandboxFailure, SandboxRefusal } from './errors.js';
import { InputFile } from './input-file.js';
import { resolveLimits, type SandboxLimits } from './limits.js';
import { LocalProcess } from './local-process.js';
import { CONTROL, openLocalSession } from './local-session.js';
import { watchMemory } from './memory-watch.js';
import { PipePool } from './pipes.js';
import { limitCommands, processBound } from './process-limits.js';
import { findProgram } from './programs.js';
import { callerUid, checkRequest, relativeFolder } from './request.js';
import { neverStarted, toResult } from './result.js';
import type { Owner, SandboxOptions, SandboxRequest, SandboxResult } from './sandbox.js';
import type { SandboxSession, SessionRequest } from './session.js';
import { SessionFolder } from './session-folder.js';
import { SessionProcesses } from './session-processes.js';
import { firstState, sessionProgram } from './session-shell.js';
import { quoteWords } from './shell.js';
import { explainSpawn } from './spawn-errors.js';
import { type Ending, Supervision } from './supervision.js';

const onLinux = process.platform === 'linux';

/**
 * Runs commands as plain child processes in the workspace folder: with the same limits where the host is
 * Linux, but with the service's view of files, network and processes. Nothing here confines hostile code.
 */
export class LocalSandbox implements SandboxDriver {
  readonly name = 'unsafe-local';
  readonly isolated = false;
  private readonly pipes: PipePool | undefined;

  constructor({ programFolders }: SandboxOptions = {}) {
    const mkfifo = onLinux ? findProgram('mkfifo', programFolders) : undefined;
    this.pipes = mkfifo ? new PipePool(mkfifo) : undefined;
  }

  async check(): Promise<SandboxCheck> {
    return { ok: true };
  }

  async run(request: SandboxRequest): Promise<SandboxResult> {
    checkRequest(request);
    const limits = resolveLimits(request.limits);
    const cwd = await folderInside(request.workspace, relativeFolder(request.cwd));
    if (request.signal?.aborted) return neverStarted();
    return conclude(await this.execute(request, limits, cwd));
  }

  async openSession(request: SessionRequest): Promise<SandboxSession> {
    checkRequest({ ...request, argv: ['bash'] });
    const mkfifo = onLinux ? findProgram('mkfifo') : undefined;
    if (!this.pipes || !mkfifo) throw new SandboxFailure('A session needs Linux, with mkfifo (coreutils)');
    const limits = resolveLimits(request.limits);
    const cwd = await folderInside(request.workspace, relativeFolder(request.cwd));
    const owner = callerUid() === 0 ? request.owner : undefined;
    const env = { ...environment(request.workspace), ...request.env };
    const folder = await SessionFolder.create(mkfifo, owner, firstState(env, request.workspace, cwd));
    const confining = limitCommands(limits, processBound(limits, owner?.uid ?? callerUid()));
    const program = `${confining}\nexec ${quoteWords(sessionProgram(folder.path, { hear: CONTROL, tell: CONTROL }))} </dev/null`;
    const running = await this.start(program, request, cwd, owner, ['pipe']);
    return openLocalSession(running, folder, limits, request.signal);
  }

  private async execute(request: SandboxRequest, limits: SandboxLimits, cwd: string): Promise<Ending> {
    const owner = callerUid() === 0 ? request.owner : undefined;
    const input = request.stdin === undefined ? undefined : await InputFile.create(request.stdin, owner);
    try {
      const processes = onLinux ? processBound(limits, owner?.uid ?? callerUid()) : undefined;
      const command = `exec ${quoteWords(request.argv)} <${quoteWords([input?.path ?? '/dev/null'])}`;
      const script = `${limitCommands(limits, processes)}\n${command}`;
      return await this.supervise(await this.start(script, request, cwd, owner), request, limits);
    } finally {
      await input?.remove();
    }
  }

  private async start(
    script: string,
    { workspace, env: own, descriptors = [] }: Pick<SandboxRequest, 'workspace' | 'env' | 'descriptors'>,
    cwd: string,
    owner: Owner | undefined,
    more: Stdio = [],
  ): Promise<LocalProcess> {
    const outputs = this.pipes && {
      stdout: await this.pipes.take(owner),
      stderr: await this.pipes.take(owner),
    };
    const output = [outputs?.stdout.write ?? 'pipe', outputs?.stderr.write ?? 'pipe'] as const;
    const stdio: Stdio = ['ignore', ...output, ...descriptors, ...more];
    const env = { ...environment(workspace), ...own };
    try {
      // A group of its own, so that what it leaves in the background can be ended with it.
      const child = spawn('/bin/sh', ['-c', script], { cwd, env, stdio, detached: true, ...owner });
      return new LocalProcess(child, outputs);
    } catch (error) {
      for (const pipe of Object.values(outputs ?? {})) closeSync(pipe.read);
      throw explainSpawn(error);
    } finally {
      for (const pipe of Object.values(outputs ?? {})) closeSync(pipe.write);
    }
  }

  private async supervise(
    running: LocalProcess,
    request: SandboxRequest,
    limits: SandboxLimits,
  ): Promise<Ending> {
    const processes = new SessionProcesses(() => running.child.pid);
    request.onStarted?.(() => processes.usage());
    const supervision = new Supervision(running, request, limits);
    const stopWatching = onLinux
      ? watchMemory(running.child.pid ?? 0, limits.memoryBytes, () => supervision.end('memory'))
      : undefined;
    return supervision.ended().finally(stopWatching);
  }
}

/** Links are followed here, unlike in a sandbox, where a link can lead nowhere that matters. */
async function folderInside(workspace: string, folder: string): Promise<string> {
  const root = await realpath(workspace);
  const path = await realpath(join(root, folder)).catch((error: unknown) => {
    throw new SandboxRefusal('The folder to start in does not exist', { cause: error });
  });
  if (path === root || path.startsWith(root + sep)) return path;
  throw new SandboxRefusal('The folder to start in must lie inside the workspace');
}

function environment(home: string): Record<string, string> {
  const path = [dirname(process.execPath), '/usr/local/bin', '/usr/bin', '/bin', '/usr/sbin', '/sbin'];
  return { PATH: path.join(':'), HOME: home, LANG: 'C.UTF-8', TERM: 'dumb' };
}

function conclude(ending: Ending): SandboxResult {
  return toResult(ending, ending.code ?? (ending.signal ? 128 + constants.signals[ending.signal] : null));
}
