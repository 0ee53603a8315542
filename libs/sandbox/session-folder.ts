import { execFile } from 'node:child_process';
import { closeSync, constants, openSync, rmSync, writeFileSync } from 'node:fs';
import { chown, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { SandboxFailure, SessionOver } from './errors.js';
import { PipeSocket, readWaiting } from './pipe-socket.js';
import type { Owner } from './sandbox.js';
import { scratchFolder } from './scratch-folder.js';
import { folderIn, isWhole, nextState } from './session-shell.js';

const READ_ONLY = { mode: 0o444 };
const WHOLE = { recursive: true, force: true };
/** How long a script waits at most that leaves more than fits into a pipe. */
const READ_MS = 100;
/** Larger states are not kept: each script would have to read them. */
const MAX_STATE_BYTES = 1024 * 1024;

/**
 * The host folder that a session sees read-only: its scripts, their input, what the script before left behind, and the
 * FIFO through which a script hands that on (a file system mounted read-only lets FIFOs be written).
 */
export class SessionFolder {
  private chunks: Buffer[] = [];
  private leftBytes = 0;
  private state: string | undefined;
  private gone = false;
  private readonly timer: NodeJS.Timeout;

  /** @param left the FIFO's reading end */
  private constructor(
    readonly path: string,
    private readonly left: number,
  ) {
    // A shell writes its state line by line, and each would wake us; only who leaves more than a pipe holds has to wait.
    this.timer = setInterval(() => this.read(), READ_MS).unref();
  }

  /**
   * @param owner who may look into it, if not this process' user
   * @param parent a folder of this machine's alone
   */
  static async create(
    mkfifo: string,
    owner: Owner | undefined,
    state: string,
    parent = tmpdir(),
  ): Promise<SessionFolder> {
    const path = await scratchFolder(parent, 'sandbox-session');
    try {
      const folder = new SessionFolder(path, await makeFifo(mkfifo, join(path, 'left'), owner));
      folder.write(state);
      if (owner) await chown(path, owner.uid, owner.gid);
      return folder;
    } catch (error) {
      await rm(path, WHOLE);
      throw new SandboxFailure('No folder could be made for a session', { cause: error });
    }
  }

  /**
   * Files of a few kilobytes are written while one waits: handing them to other threads takes longer. Throws SessionOver
   * where the folder is being removed, since that would fail over a new file.
   */
  prepare(number: number, script: string, input: string | Buffer | undefined): void {
    if (this.gone) throw new SessionOver('The session is over');
    writeFileSync(join(this.path, `script-${number}`), script, READ_ONLY);
    if (input !== undefined) writeFileSync(join(this.path, `input-${number}`), input, READ_ONLY);
  }

  /** Takes over what a script has left; false if that was too much. What was left incompletely is not missed. */
  settle(number: number): boolean {
    this.read();
    const fits = this.leftBytes <= MAX_STATE_BYTES;
    const state = Buffer.concat(this.chunks).toString();
    this.chunks = [];
    this.leftBytes = 0;
    for (const name of ['script', 'input']) rmSync(join(this.path, `${name}-${number}`), { force: true });
    if (fits && isWhole(state, number)) this.write(nextState(state));
    return fits;
  }

  /** The folder in which the next script begins; null where that is not known. */
  get cwd(): string | null {
    return folderIn(this.state ?? '');
  }

  /** Whether it is removed, or about to be. */
  get isGone(): boolean {
    return this.gone;
  }

  /** Once. */
  async remove(): Promise<void> {
    this.gone = true;
    clearInterval(this.timer);
    closeSync(this.left);
    await rm(this.path, WHOLE);
  }

  /** Of too much, what is over is thrown away. */
  private read(): void {
    const bytes = readWaiting(this.left, MAX_STATE_BYTES + 1);
    this.leftBytes += bytes.length;
    if (this.leftBytes <= MAX_STATE_BYTES) this.chunks.push(bytes);
  }

  /**
   * It is not read until the next script is requested. A new file each time: ext4 writes out at once what takes the place
   * of something.
   */
  private write(state: string): void {
    if (state === this.state) return;
    this.state = state;
    const path = join(this.path, 'state');
    rmSync(path, { force: true });
    writeFileSync(path, state);
  }
}

/** A named pipe that its owner may write, and its reading end. */
export async function makePipe(mkfifo: string, path: string, owner: Owner | undefined): Promise<PipeSocket> {
  return new PipeSocket(await makeFifo(mkfifo, path, owner));
}

async function makeFifo(mkfifo: string, path: string, owner: Owner | undefined): Promise<number> {
  await promisify(execFile)(mkfifo, ['-m', '600', path]);
  if (owner) await chown(path, owner.uid, owner.gid);
  // Opened for both directions, it does not end with a writer.
  return openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
}
