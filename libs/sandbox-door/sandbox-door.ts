import { EventEmitter } from 'node:events';
import { chown, writeFile } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import path from 'node:path';
import { doorSource } from './door-program.js';

/** Spare connections that are kept ready. */
const SPARES = 8;
/** Connections beyond those asked for that may be open before they say what they are. */
const MORE_UNKNOWN = 8;
/** Bytes to a program that does not read them. */
const MAX_UNREAD = 64 * 1024;
/** Characters of an answer. */
const MAX_LINE = 1024;
/** How long a spare connection, an answer to a question, or a connection inside is waited for. */
const WAIT_MS = 10_000;

/** The program in the sandbox has ended, or the door was closed. */
export class DoorClosed extends Error {
  constructor() {
    super('The sandbox cannot be reached any more');
  }
}

/** The sandbox can be reached, but nothing in it listens on the port. */
export class PortRefused extends Error {
  constructor(readonly port: number) {
    super(`Nothing listens on port ${port}`);
  }
}

interface Waiting {
  take(socket: Socket): void;
}

/**
 * The way into a sandbox that has no network: connections to its ports, which a program inside opens from inside to outside. What
 * comes through is as little to be trusted as anything of the sandbox.
 *
 * Emits `open` when the program can be reached, and `lost` when it has ended.
 */
export class SandboxDoor extends EventEmitter<{ open: []; lost: [] }> {
  private readonly server: Server;
  private readonly sockets = new Set<Socket>();
  private readonly spares: Socket[] = [];
  private readonly active = new Set<Socket>();
  private readonly waiting: Waiting[] = [];
  private readonly questions: ((line: string) => void)[] = [];
  private control: Socket | undefined;
  private unknown = 0;
  /** Connections that were asked for and have not come. */
  private asked = 0;
  private isClosed = false;

  private constructor() {
    super();
    this.server = createServer({ allowHalfOpen: true, noDelay: true }, socket => this.greet(socket));
  }

  /**
   * Puts the program (`door.cjs`) and its socket into `folder`: an absolute host folder, empty and not writable for the sandbox, that is
   * to be shown inside read-only. With `owner`, only that account reaches what is in it.
   */
  static async open(folder: string, owner?: { uid: number; gid: number }): Promise<SandboxDoor> {
    const door = new SandboxDoor();
    const socket = path.join(folder, 'door.sock');
    await Promise.all([
      writeFile(path.join(folder, 'door.cjs'), doorSource, { mode: 0o444 }),
      new Promise<void>((resolve, reject) => {
        door.server.once('error', reject).listen(socket, resolve);
      }),
    ]);
    if (!owner) return door;
    await chown(socket, owner.uid, owner.gid);
    // Last: from here on only that account reaches what is inside.
    await chown(folder, owner.uid, owner.gid);
    return door;
  }

  get isOpen(): boolean {
    return this.control !== undefined;
  }

  /**
   * A connection to a port of the sandbox, on 127.0.0.1 or ::1. Rejects with {@link PortRefused}, {@link DoorClosed}, or the reason of
   * the signal.
   */
  async connect(port: number, signal?: AbortSignal): Promise<Socket> {
    const limit = AbortSignal.any([AbortSignal.timeout(WAIT_MS), ...(signal ? [signal] : [])]);
    const socket = await this.spare(limit);
    const stop = () => socket.destroy();
    limit.addEventListener('abort', stop, { once: true });
    try {
      socket.write(`${port}\n`);
      const first = await firstByte(socket);
      if (first === '+') {
        this.active.add(socket);
        socket.once('close', () => this.active.delete(socket));
        return socket;
      }
      socket.destroy();
      if (limit.aborted) throw limit.reason;
      throw first === '-' ? new PortRefused(port) : new DoorClosed();
    } finally {
      limit.removeEventListener('abort', stop);
    }
  }

  /** Connections that were made and have not ended. */
  get connections(): number {
    return this.active.size;
  }

  /**
   * A sign of life. From the first on, the sandbox ends by itself eight seconds after the last one: also where this process
   * stands still and cannot end it.
   */
  beat(): void {
    this.control?.write('alive\n');
  }

  /** Sends SIGTERM to all programs of the sandbox; false where they cannot be reached. */
  terminate(): boolean {
    return this.control?.write('end\n') !== undefined;
  }

  /** The ports of TCP that listen inside, in ascending order. */
  ports(): Promise<number[]> {
    const { control } = this;
    if (!control) return Promise.reject(new DoorClosed());
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => control.destroy(), WAIT_MS);
      const lost = () => {
        clearTimeout(timer);
        reject(new DoorClosed());
      };
      control.once('close', lost);
      this.questions.push(line => {
        clearTimeout(timer);
        control.off('close', lost);
        resolve(line.split(' ').flatMap(word => (/^\d{1,5}$/.test(word) ? [Number(word)] : [])));
      });
      control.write('ports\n');
    });
  }

  /** Ends all connections. */
  async close(): Promise<void> {
    this.isClosed = true;
    const closed = new Promise(resolve => this.server.close(resolve));
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  private async greet(socket: Socket): Promise<void> {
    this.sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => this.sockets.delete(socket));
    if (this.isClosed || this.unknown >= this.asked + MORE_UNKNOWN) return void socket.destroy();
    this.unknown++;
    const timer = setTimeout(() => socket.destroy(), WAIT_MS);
    const kind = await firstByte(socket);
    clearTimeout(timer);
    this.unknown--;
    if (kind === 's') this.keep(socket);
    else if (kind === 'c' && !this.control) this.listen(socket);
    else socket.destroy();
  }

  private keep(socket: Socket): void {
    // The program opens none unasked; what else runs in the sandbox could.
    if (this.asked === 0) return void socket.destroy();
    this.asked--;
    const next = this.waiting.shift();
    if (next) next.take(socket);
    else this.store(socket);
  }

  /** Asks for as many as wait, and for spares. */
  private ask(): void {
    const { control } = this;
    const missing = this.waiting.length + SPARES - this.spares.length - this.asked;
    if (!control || missing <= 0) return;
    if (control.writableLength > MAX_UNREAD) return void control.destroy();
    this.asked += missing;
    control.write(`need ${missing}\n`);
  }

  private store(socket: Socket): void {
    this.spares.push(socket);
    socket.once('close', () => {
      const index = this.spares.indexOf(socket);
      if (index < 0) return;
      this.spares.splice(index, 1);
      this.ask();
    });
  }

  private spare(signal: AbortSignal): Promise<Socket> {
    if (signal.aborted) return Promise.reject(signal.reason);
    const kept = this.spares.pop();
    this.ask();
    if (kept) return Promise.resolve(kept);
    const { control } = this;
    if (!control) return Promise.reject(new DoorClosed());
    return new Promise((resolve, reject) => {
      const over = () => {
        control.off('close', over);
        signal.removeEventListener('abort', over);
        const index = this.waiting.indexOf(waiting);
        if (index >= 0) this.waiting.splice(index, 1);
        // What was asked for and did not come is asked for again.
        if (this.asked > 0) this.asked--;
        reject(signal.aborted ? signal.reason : new DoorClosed());
      };
      const waiting = {
        take: (socket: Socket) => {
          control.off('close', over);
          signal.removeEventListener('abort', over);
          resolve(socket);
        },
      };
      this.waiting.push(waiting);
      control.setMaxListeners(0).once('close', over);
      signal.addEventListener('abort', over, { once: true });
      this.ask();
    });
  }

  private listen(control: Socket): void {
    this.control = control;
    let line = '';
    control.setEncoding('latin1').on('data', (text: string) => {
      const [first = '', ...others] = text.split('\n');
      const lines = [line + first, ...others];
      line = lines.pop() ?? '';
      // Lines that nobody asked for would keep the event loop.
      if (line.length > MAX_LINE || lines.length > this.questions.length) return void control.destroy();
      for (const answer of lines) this.questions.shift()?.(answer);
    });
    // The other side is gone: nothing is left to be said to it.
    control.once('end', () => control.destroy());
    control.once('close', () => {
      this.control = undefined;
      this.asked = 0;
      this.questions.length = 0;
      for (const socket of this.spares) socket.destroy();
      this.emit('lost');
    });
    this.ask();
    this.emit('open');
  }
}

/** The first byte, taken; what follows stays unread. Empty where the other side ended or broke off. */
function firstByte(socket: Socket): Promise<string> {
  return new Promise(resolve => {
    const done = (byte: string) => {
      socket.off('readable', read).off('end', ended).off('close', ended);
      resolve(byte);
    };
    const ended = () => done('');
    const read = () => {
      const byte: Buffer | null = socket.read(1);
      if (byte) done(byte.toString('latin1'));
    };
    socket.on('readable', read).once('end', ended).once('close', ended);
  });
}
