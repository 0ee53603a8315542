import { createInterface } from 'node:readline';
import type { Duplex } from 'node:stream';
import { SandboxRefusal, SessionOver } from './errors.js';
import type { SandboxLimits } from './limits.js';
import { FLOOD_FACTOR } from './output.js';
import type { PipeSocket } from './pipe-socket.js';
import { neverStarted } from './result.js';
import type { SandboxUsage } from './sandbox.js';
import type { SandboxSession, SessionCommand, SessionEnd, SessionResult } from './session.js';
import type { SessionFolder } from './session-folder.js';
import { type ScriptResult, SessionScript } from './session-script.js';

/** How often the kernel has refused something. */
export interface Refusals {
  memory: number;
  processes: number;
}

/** What a driver puts around the program of a session (`sessionProgram`). Process numbers are those of inside. */
export interface SessionPlace {
  /** To the program and back, on its own descriptor; closes when it ends. */
  control: Duplex;
  stdout: PipeSocket;
  stderr: PipeSocket;
  folder: SessionFolder;
  /** Kills everything. */
  kill(): void;
  /** Resolves when everything is dead and taken down. */
  dead: Promise<unknown>;
  signal(pid: number, signal: NodeJS.Signals): void;
  /** Kills a script that began at a time of `performance.now()`, and what it started; what scripts before it left is spared. */
  killScript(pid: number, since: number): void;
  /** How often the kernel has killed for memory, and refused a process, up to now. */
  refusals(): Refusals | Promise<Refusals>;
  usage(): SandboxUsage;
  /** Whether there are processes beside the program of the session and what it started itself; true where that is unknown. */
  hasOthers(): boolean;
}

const MAX_SCRIPT_BYTES = 4 * 1024 * 1024;
/** What background processes write between two scripts is kept for the next one, so much of it. */
const MAX_BETWEEN_BYTES = 64 * 1024;
/** A script that is not reported dead so long after it was killed cannot be killed alone. */
const KILL_MS = 2000;

type Chunk = ['stdout' | 'stderr', Buffer];

/** A session whose scripts are run by the program of `session-shell.ts`, wherever that runs. */
export class ShellSession implements SandboxSession {
  readonly ended: Promise<SessionEnd>;
  private readonly ready: Promise<unknown>;
  private reason: SessionEnd | undefined;
  private over = false;
  private turn: Promise<unknown> = Promise.resolve();
  private count = 0;
  private cpuMs = 0;
  /** Processes that the kernel had killed for memory before the last script. */
  private memoryKills = 0;
  private script: SessionScript | undefined;
  private between: Chunk[] = [];
  private betweenBytes = 0;

  constructor(
    private readonly place: SessionPlace,
    private readonly limits: SandboxLimits,
    signal?: AbortSignal,
  ) {
    for (const name of ['stdout', 'stderr'] as const) {
      place[name].on('data', (bytes: Buffer) => this.hear([name, bytes]));
      place[name].on('error', () => place[name].destroy());
    }
    const lines = createInterface({ input: place.control });
    this.ready = new Promise(resolve => {
      lines.once('line', resolve);
    });
    lines.on('line', line => this.script?.hear(line));
    this.ended = place.dead.then(() => this.conclude());
    const stop = (): void => this.stop('ended');
    signal?.addEventListener('abort', stop, { once: true });
    if (signal?.aborted) stop();
    void this.ended.then(() => signal?.removeEventListener('abort', stop));
  }

  /** Resolves when scripts may come; with what was said on stderr, if it ended instead. */
  async opened(): Promise<string | undefined> {
    const isOpen = this.ready.then(() => true);
    if (await Promise.race([isOpen, this.ended.then(() => false)])) return undefined;
    return Buffer.concat(this.between.map(([, bytes]) => bytes)).toString();
  }

  /** To be called by the watcher of the memory, where the kernel does not. */
  outOfMemory(): void {
    this.stop('memory');
  }

  async run(command: SessionCommand): Promise<SessionResult> {
    const { script } = command;
    if (script.includes('\0')) throw new SandboxRefusal('A script may not contain NUL characters');
    if (Buffer.byteLength(script) > MAX_SCRIPT_BYTES)
      throw new SandboxRefusal(`A script may have at most ${MAX_SCRIPT_BYTES} bytes`);
    const result = this.turn.then(() => this.perform(command));
    this.turn = result.catch(() => undefined);
    return result;
  }

  interrupt(signal: NodeJS.Signals = 'SIGINT'): boolean {
    const pid = this.script?.pid;
    if (pid === undefined) return false;
    this.place.signal(pid, signal);
    return true;
  }

  usage(): SandboxUsage {
    return this.place.usage();
  }

  runsOn(): boolean {
    return !this.over && this.place.hasOthers();
  }

  async end(): Promise<void> {
    this.stop('ended');
    await this.ended;
  }

  private async perform(command: SessionCommand): Promise<SessionResult> {
    if (this.over || this.reason) throw new SessionOver('The session is over');
    if (command.signal?.aborted) {
      const { cwd } = this.place.folder;
      return { ...neverStarted(), session_ended: null, cpu_ms: 0, cwd_before: cwd, cwd };
    }
    const number = ++this.count;
    const { folder, control } = this.place;
    const refusals = await this.place.refusals();
    if (this.over || this.reason) throw new SessionOver('The session is over');
    folder.prepare(number, command.script, command.stdin);
    this.memoryKills = refusals.memory;
    const script = new SessionScript(number, command, this.limits, refusals);
    script.onKill = pid => this.kill(script, pid);
    this.script = script;
    for (const [name, bytes] of this.between) script.add(name, bytes);
    this.between = [];
    this.betweenBytes = 0;
    control.write(`${number}\n`);
    const cwd_before = folder.cwd;
    const result = await this.followed(script);
    return { ...result, cwd_before, cwd: folder.cwd };
  }

  private async followed(script: SessionScript): Promise<ScriptResult> {
    try {
      await Promise.race([script.reported, this.ended]);
      // What it wrote lies in the pipes by now, and what others write meanwhile comes after.
      for (const name of ['stdout', 'stderr'] as const) this.place[name].drain(this.limits.outputBytes);
      const { folder } = this.place;
      const survives = !this.over && !this.reason && !folder.isGone;
      if (survives && !folder.settle(script.number))
        script.add('stderr', Buffer.from('What this script left in variables is too much to be kept\n'));
      const end = survives ? null : await this.ended;
      return script.result(end, await this.place.refusals(), this.cpuMs);
    } finally {
      this.script = undefined;
      this.cpuMs = script.cpuTotal ?? this.cpuMs;
      script.close();
    }
  }

  private hear(chunk: Chunk): void {
    if (this.script) {
      this.script.add(...chunk);
      if (this.script.flooded) this.stop('output');
      return;
    }
    this.betweenBytes += chunk[1].length;
    if (this.betweenBytes <= MAX_BETWEEN_BYTES) this.between.push(chunk);
    else if (this.betweenBytes > this.limits.outputBytes * FLOOD_FACTOR) this.stop('output');
  }

  private kill(script: SessionScript, pid: number): void {
    this.place.killScript(pid, script.startedAt);
    const patience = setTimeout(() => this.stop('killed'), KILL_MS);
    void script.reported.then(() => clearTimeout(patience));
    void this.ended.then(() => clearTimeout(patience));
  }

  private stop(reason: SessionEnd): void {
    if (this.over) return;
    this.reason ??= reason;
    this.place.kill();
  }

  private async conclude(): Promise<SessionEnd> {
    this.over = true;
    const { stdout, stderr, control } = this.place;
    // A process that escaped a driver without isolation may still hold the other ends.
    for (const stream of [stdout, stderr]) stream.drain(this.limits.outputBytes);
    for (const stream of [stdout, stderr, control]) stream.destroy();
    return this.reason ?? ((await this.place.refusals()).memory > this.memoryKills ? 'memory' : 'killed');
  }
}
