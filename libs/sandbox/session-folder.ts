import { execFile } from 'node:child_process';
import { constants, openSync } from 'node:fs';
import { chown, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { SandboxFailure } from './errors.js';
import { isAlive } from './kill.js';
import { PipeSocket } from './pipe-socket.js';
import type { Owner } from './sandbox.js';
import { isWhole } from './session-shell.js';

/** Larger states are not kept: each script would have to read them. */
const MOST_STATE_BYTES = 1024 * 1024;

/** The folders of dead services are recognised by this and the process id that follows. */
const PREFIX = 'sandbox-session-';
const cleaned = new Map<string, Promise<void>>();

async function removeFoldersOfTheDead(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const pid = new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1];
    if (pid !== undefined && !isAlive(Number(pid)))
      await rm(join(parent, name), { recursive: true, force: true });
  }
}

/**
 * The host folder that a session sees read-only: its scripts, their input, what the script before left behind, and the
 * FIFO through which a script hands that on (a file system mounted read-only lets FIFOs be written).
 */
export class SessionFolder {
  private chunks: Buffer[] = [];
  private leftBytes = 0;

  private constructor(
    readonly path: string,
    private readonly left: PipeSocket,
  ) {
    left.unref();
    left.on('error', () => left.destroy());
    left.on('data', bytes => this.keep(bytes));
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
    let clean = cleaned.get(parent);
    clean ??= removeFoldersOfTheDead(parent);
    cleaned.set(parent, clean);
    await clean;
    const path = await mkdtemp(join(parent, `${PREFIX}${process.pid}-`));
    try {
      const folder = new SessionFolder(path, await makePipe(mkfifo, join(path, 'left'), owner));
      await folder.write('state', state);
      if (owner) await chown(path, owner.uid, owner.gid);
      return folder;
    } catch (error) {
      await rm(path, { recursive: true, force: true });
      throw new SandboxFailure('No folder could be made for a session', { cause: error });
    }
  }

  async prepare(number: number, script: string, input: string | Buffer): Promise<void> {
    await Promise.all([
      writeFile(join(this.path, `script-${number}`), script, { mode: 0o444 }),
      writeFile(join(this.path, `input-${number}`), input, { mode: 0o444 }),
    ]);
  }

  /** Takes over what a script has left; false if that was too much. What was left incompletely is not missed. */
  async settle(number: number): Promise<boolean> {
    this.left.drain(MOST_STATE_BYTES);
    const fits = this.leftBytes <= MOST_STATE_BYTES;
    const state = Buffer.concat(this.chunks).toString();
    this.chunks = [];
    this.leftBytes = 0;
    this.left.resume();
    const used = ['script', 'input'].map(name => join(this.path, `${name}-${number}`));
    await Promise.all([
      ...used.map(file => rm(file, { force: true })),
      ...(fits && isWhole(state, number) ? [this.write('state', state)] : []),
    ]);
    return fits;
  }

  async remove(): Promise<void> {
    this.left.destroy();
    await rm(this.path, { recursive: true, force: true });
  }

  /** Whoever writes too much waits until the script is over. */
  private keep(bytes: Buffer): void {
    this.leftBytes += bytes.length;
    if (this.leftBytes <= MOST_STATE_BYTES) this.chunks.push(bytes);
    else this.left.pause();
  }

  private async write(name: string, content: string): Promise<void> {
    const fresh = join(this.path, `${name}.new`);
    await writeFile(fresh, content, { mode: 0o444 });
    await rename(fresh, join(this.path, name));
  }
}

/** A named pipe that its owner may write, and its reading end. */
export async function makePipe(mkfifo: string, path: string, owner: Owner | undefined): Promise<PipeSocket> {
  await promisify(execFile)(mkfifo, ['-m', '600', path]);
  if (owner) await chown(path, owner.uid, owner.gid);
  // Opened for both directions, it does not end with a writer.
  return new PipeSocket(openSync(path, constants.O_RDWR | constants.O_NONBLOCK));
}
