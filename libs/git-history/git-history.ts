import { randomUUID } from 'node:crypto';
import { Intake, type Reading, type SeenFile } from './intake.js';
import {
  APPEND,
  DIFF,
  emptyRef,
  environmentOf,
  FORGET,
  type Identity,
  NO_SUCH_CONTENT,
  READ,
} from './scripts.js';
import { type UnifiedDiff, unifiedDiff } from './unified-diff.js';

export interface HistoryFile extends AsyncDisposable {
  readAt(position: number, length: number): Promise<Buffer>;
  /** From `start` up to, but without, `end`. */
  part(start: number, end: number): AsyncIterable<Buffer>;
}

/** The folder of a history: for git's repository, and for what goes into and out of it. */
export interface HistoryFolder {
  write(name: string, content: AsyncIterable<Buffer>): Promise<unknown>;
  openRead(name: string): Promise<HistoryFile>;
  remove(name: string): Promise<unknown>;
}

export interface Program {
  readonly argv: string[];
  readonly env: Record<string, string>;
  readonly stdin?: string | Buffer;
  readonly limits: { readonly wallMs: number; readonly cpuSeconds: number; readonly outputBytes?: number };
}

export interface ProgramEnd {
  readonly exit_code: number | null;
  /** `exit`: by itself; `timeout`: by its limits. */
  readonly ended_by: string;
  readonly stdout: string;
  readonly stderr: string;
  /** There was more output than its limit. */
  readonly truncated: boolean;
}

export interface HistoryHost {
  /** Makes the folder where it is missing. */
  open(): Promise<HistoryFolder>;
  /** Runs a program with the folder as its working directory. */
  run(program: Program): Promise<ProgramEnd>;
}

export interface Intaken<T extends SeenFile> {
  /** Reads a file if it is still as it was seen. */
  readonly read: (file: T) => Promise<Reading>;
  /** How many bytes of new contents may come in. */
  readonly room: number;
  /** Names of contents that git has; grows. */
  readonly known: Set<string>;
}

/** A content, and the path that it had. */
export interface Side {
  readonly path: string;
  readonly blob: string;
}

const HEAD_BYTES = 256;
const LINE_END = 10;

/** Reads what `git cat-file --batch` wrote of `count` blobs; null for one that it did not find. */
async function* readBlobs(file: HistoryFile, count: number): AsyncGenerator<Buffer | null> {
  let at = 0;
  for (let n = 0; n < count; n++) {
    const start = await file.readAt(at, HEAD_BYTES);
    const end = start.indexOf(LINE_END);
    if (end === -1) throw new Error('git cat-file ended early');
    const [, type, size] = start.subarray(0, end).toString().split(' ');
    at += end + 1;
    if (type !== 'blob') {
      yield null;
      continue;
    }
    const content = await readAll(file, at, Number(size));
    at += content.byteLength + 1;
    yield content;
  }
}

async function readAll(file: HistoryFile, start: number, length: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of file.part(start, start + length)) parts.push(part);
  return Buffer.concat(parts, length);
}

/** Content beyond this size goes in through a file instead of a pipe. */
const SMALL_BYTES = 4 * 1024 * 1024;
const NOT_FOUND = 127;
const LIMITS = { wallMs: 300_000, cpuSeconds: 300 };
const DIFF_LIMITS = { wallMs: 20_000, cpuSeconds: 20, outputBytes: 1024 * 1024 };
/** What programs say for ENOSPC; they run in the plain locale. */
const DISK_FULL = 'No space left on device';
const GIT_MISSING =
  'There is no history of files here because git is missing where commands run: install it (Debian: apt-get install git)';

/**
 * Contents of files in git, one bare repository a folder. Git never sees a work tree: contents are handed to it as bytes,
 * and paths as quoted text.
 */
export class GitHistory {
  constructor(
    private readonly host: HistoryHost,
    private readonly identity: Identity,
  ) {}

  /** Why git does not work here; null where it does. */
  async fault(): Promise<string | null> {
    await this.host.open();
    const { exit_code } = await this.program(['git', '--version']);
    if (exit_code === 0) return null;
    return exit_code === NOT_FOUND ? GIT_MISSING : `git does not work here: it ended with code ${exit_code}`;
  }

  /** Adds one commit, and sets the contents of the files; returns its name. Only one at a time may do so. */
  async commit<T extends SeenFile>(
    files: readonly T[],
    { read, room, known }: Intaken<T>,
  ): Promise<{ sha: string; bytes: number }> {
    const intake = new Intake(read, room, known);
    const sha = await this.append(intake.commit(files, this.identity));
    return { sha, bytes: intake.bytes };
  }

  /** In this order; null for one that is not kept any more. */
  async *read(names: readonly string[]): AsyncGenerator<Buffer | null> {
    if (names.length === 0) return;
    const output = `outgoing-${randomUUID()}`;
    const folder = await this.host.open();
    try {
      await this.script(READ, [output], `${names.join('\n')}\n`);
      await using file = await folder.openRead(output);
      yield* readBlobs(file, names.length);
    } finally {
      // Git may not have started.
      await folder.remove(output).catch(() => undefined);
    }
  }

  /** Compares two contents, of which one may be null: there was none. */
  async diff(
    before: Side | null,
    after: Side | null,
  ): Promise<(UnifiedDiff & { truncated: boolean }) | 'missing' | 'timeout'> {
    const blobs = [before, after].map(side => side?.blob ?? emptyRef(this.identity));
    const end = await this.program(['sh', '-c', DIFF, 'sh', ...blobs], undefined, DIFF_LIMITS);
    const { exit_code, ended_by, stdout, stderr, truncated } = end;
    if (ended_by === 'timeout') return 'timeout';
    if (exit_code === NO_SUCH_CONTENT) return 'missing';
    if (exit_code !== 0 && !truncated) throw new Error(`git diff failed: ${stderr}`);
    return { ...unifiedDiff(stdout, before?.path ?? null, after?.path ?? null), truncated };
  }

  /** Forgets what no commit from `oldest` on needs (null: what is in none at all); returns the bytes that are left. */
  async forget(oldest: string | null): Promise<number> {
    await this.host.open();
    return Number((await this.script(FORGET, [oldest ?? ''])).trim()) * 1024;
  }

  private async append(stream: AsyncIterable<Buffer>): Promise<string> {
    const { small, rest } = await upTo(SMALL_BYTES, stream);
    const folder = await this.host.open();
    if (!rest) return (await this.script(APPEND, [], Buffer.concat(small))).trim();
    const name = `incoming-${randomUUID()}`;
    try {
      await folder.write(name, joined(small, rest));
      return (await this.script(APPEND, [name])).trim();
    } finally {
      await folder.remove(name);
    }
  }

  private async script(script: string, given: string[], stdin?: string | Buffer): Promise<string> {
    const end = await this.program(['sh', '-c', script, 'sh', ...given], stdin);
    const { ended_by, exit_code, stdout, stderr } = end;
    if (ended_by !== 'exit' || exit_code !== 0) {
      const message = `git failed (${ended_by}, ${exit_code}): ${stderr.slice(0, 2000)}`;
      throw Object.assign(new Error(message), stderr.includes(DISK_FULL) && { code: 'ENOSPC' });
    }
    return stdout;
  }

  private program(
    argv: string[],
    stdin?: string | Buffer,
    limits: Program['limits'] = LIMITS,
  ): Promise<ProgramEnd> {
    return this.host.run({ argv, stdin, env: environmentOf(this.identity), limits });
  }
}

async function upTo(
  bytes: number,
  stream: AsyncIterable<Buffer>,
): Promise<{ small: Buffer[]; rest: AsyncIterator<Buffer> | null }> {
  const small: Buffer[] = [];
  const rest = stream[Symbol.asyncIterator]();
  for (let size = 0; size <= bytes; ) {
    const { value, done } = await rest.next();
    if (done) return { small, rest: null };
    small.push(value);
    size += value.byteLength;
  }
  return { small, rest };
}

async function* joined(first: Buffer[], rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  yield* first;
  for (;;) {
    const { value, done } = await rest.next();
    if (done) return;
    yield value;
  }
}
