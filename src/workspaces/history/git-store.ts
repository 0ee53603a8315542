import { Injectable } from '@nestjs/common';
import { SandboxFailure, type SandboxRequest, type SandboxResult } from '#libs/sandbox/index.js';
import type { OpenFile } from '#libs/workspace-fs/index.js';
import { Config } from '../../platform/config/index.js';
import { newId } from '../../platform/database/index.js';
import { Gone, Unavailable } from '../../platform/errors/index.js';
import { WorkspaceFolders } from '../core/index.js';
import { SandboxesService } from '../sandboxes/index.js';
import { APPEND, DIFF, FORGET, GIT_ENVIRONMENT, NO_SUCH_CONTENT, READ } from './git-scripts.js';

const HEAD_BYTES = 256;
const LINE_END = 10;

/** Reads what `git cat-file --batch` wrote of `count` blobs; null for one that it did not find. */
export async function* readBlobs(file: OpenFile, count: number): AsyncGenerator<Buffer | null> {
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

async function readAll(file: OpenFile, start: number, length: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of file.part(start, start + length)) parts.push(part);
  return Buffer.concat(parts, length);
}

export interface RepositoryOf {
  readonly id: string;
  readonly number: number;
}

/** Content beyond this size goes in through a file instead of a pipe. */
const SMALL_BYTES = 4 * 1024 * 1024;
/** How long a fault is cached. */
const FAULT_MS = 60_000;
const NOT_FOUND = 127;
const TIME = { wallMs: 300_000, cpuSeconds: 300 };
const DIFF_LIMITS = { wallMs: 20_000, cpuSeconds: 20, outputBytes: 1024 * 1024 };
const GIT_MISSING =
  'There is no history of files here because git is missing where commands run: install it (Debian: apt-get install git)';

/**
 * Contents of files in git, one bare repository a workspace, outside it. Git never sees a work tree: contents are handed
 * to it as bytes, and paths as quoted text. It runs in a sandbox of its own, as what it reads may have been made to harm.
 */
@Injectable()
export class GitStore {
  private known: { fault: string | null; until: number } | undefined;

  constructor(
    private readonly config: Config,
    private readonly sandboxes: SandboxesService,
    private readonly folders: WorkspaceFolders,
  ) {}

  /** Null where there is a history. */
  async fault(): Promise<string | null> {
    if (this.config.historyDays === 0) return 'The history of files is switched off here (HISTORY_DAYS=0)';
    if (this.known && (this.known.fault === null || this.known.until > Date.now())) return this.known.fault;
    const fault = await this.look().catch(faultOf);
    this.known = { fault, until: Date.now() + FAULT_MS };
    return fault;
  }

  async require(): Promise<void> {
    const fault = await this.fault();
    if (fault !== null) throw new Unavailable(fault);
  }

  /** Adds one commit, as git-fast-import(1) takes it; returns its name. Only one at a time may do so. */
  async append(workspace: RepositoryOf, stream: AsyncIterable<Buffer>): Promise<string> {
    const { small, rest } = await upTo(SMALL_BYTES, stream);
    const files = await this.folders.openHistory(workspace);
    if (!rest) return (await this.run(workspace, APPEND, [], { stdin: Buffer.concat(small) })).trim();
    const name = `incoming-${newId()}`;
    try {
      await files.write(name, joined(small, rest));
      return (await this.run(workspace, APPEND, [name])).trim();
    } finally {
      await files.remove(name);
    }
  }

  /** In this order; null for one that is not kept any more. */
  async *read(workspace: RepositoryOf, names: readonly string[]): AsyncGenerator<Buffer | null> {
    if (names.length === 0) return;
    const output = `outgoing-${newId()}`;
    const files = await this.folders.openHistory(workspace);
    try {
      await this.run(workspace, READ, [output], { stdin: `${names.join('\n')}\n` });
      await using file = await files.openRead(output);
      yield* readBlobs(file, names.length);
    } finally {
      // Git may not have started.
      await files.remove(output).catch(() => undefined);
    }
  }

  /** The unified diff of two contents, of which one may be missing; without its header. Null: it takes too long. */
  async diff(
    workspace: RepositoryOf,
    before: string | null,
    after: string | null,
  ): Promise<{ text: string; truncated: boolean } | null> {
    const empty = 'refs/atelier/empty';
    const argv = ['sh', '-c', DIFF, 'sh', before ?? empty, after ?? empty];
    const { exit_code, ended_by, stdout, stderr, truncated } = await this.program(workspace, {
      argv,
      limits: DIFF_LIMITS,
    });
    if (ended_by === 'timeout') return null;
    if (exit_code === NO_SUCH_CONTENT) throw new Gone('The content of this version is not kept any more');
    if (exit_code !== 0 && !truncated) throw new Error(`git diff failed: ${stderr}`);
    return { text: stdout, truncated };
  }

  /** Forgets what no commit from `oldest` on needs (null: what is in none at all); returns the bytes that are left. */
  async forget(workspace: RepositoryOf, oldest: string | null): Promise<number> {
    await this.folders.openHistory(workspace);
    return Number((await this.run(workspace, FORGET, [oldest ?? ''])).trim()) * 1024;
  }

  private async run(
    workspace: RepositoryOf,
    script: string,
    given: string[],
    more: Partial<SandboxRequest> = {},
  ): Promise<string> {
    const argv = ['sh', '-c', script, 'sh', ...given];
    const { ended_by, exit_code, stdout, stderr } = await this.program(workspace, { argv, ...more });
    if (ended_by !== 'exit' || exit_code !== 0)
      throw new Error(`git failed (${ended_by}, ${exit_code}): ${stderr.slice(0, 2000)}`);
    return stdout;
  }

  private program(
    workspace: RepositoryOf,
    request: Pick<SandboxRequest, 'argv' | 'stdin' | 'limits'>,
  ): Promise<SandboxResult> {
    const limits = {
      ...TIME,
      memoryBytes: this.config.sandboxMemoryBytes,
      fileBytes: Number.POSITIVE_INFINITY,
    };
    return this.sandboxes.runProgram({
      ...request,
      workspace: this.folders.historyOf(workspace),
      owner: this.folders.ownerOf(workspace),
      env: GIT_ENVIRONMENT,
      limits: { ...limits, ...request.limits },
    });
  }

  private async look(): Promise<string | null> {
    const fault = await this.sandboxes.fault();
    if (fault !== null) return fault;
    const probe = { id: 'probe', number: 0 };
    await this.folders.openHistory(probe);
    const { exit_code } = await this.program(probe, { argv: ['git', '--version'] });
    if (exit_code === 0) return null;
    return exit_code === NOT_FOUND ? GIT_MISSING : `git does not work here: it ended with code ${exit_code}`;
  }
}

/** Without a sandbox there is no history, which is no reason to refuse anything else. */
function faultOf(error: unknown): string {
  if (error instanceof SandboxFailure) return `There is no history of files here: ${error.message}`;
  throw error;
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
