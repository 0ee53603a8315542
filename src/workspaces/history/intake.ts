import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { type WorkspaceFs, WorkspaceFsError } from '#libs/workspace-fs/index.js';
import type { Content, Draft } from './draft.js';

export type TreeChange =
  | { readonly path: string; readonly gone: true }
  | {
      readonly path: string;
      readonly gone: false;
      readonly blob: string;
      readonly executable: boolean;
    };

const quoted = (path: string) =>
  `"${path.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`;

/** One content, as git-fast-import(1) takes it. */
export function blobCommand(content: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`blob\ndata ${content.byteLength}\n`), content, Buffer.from('\n')]);
}

/** The commit that changes paths, later ones over earlier ones; its contents are known by their names. */
export function commitCommand(changes: readonly TreeChange[], at: Date): Buffer {
  const message = `${changes.length} files`;
  const last = new Map(changes.map(change => [change.path, change]));
  const all = [...last.values()];
  // What is gone makes room first: a file may have become a folder, or a folder a file.
  const lines = [
    ...all.flatMap(({ path, gone }) => (gone ? [`D ${quoted(path)}`] : [])),
    ...all.flatMap(change =>
      change.gone
        ? []
        : [`M ${change.executable ? '100755' : '100644'} ${change.blob} ${quoted(change.path)}`],
    ),
  ];
  const head = [
    'commit refs/heads/main',
    `committer Atelier <history@atelier> ${Math.floor(at.getTime() / 1000)} +0000`,
    `data ${Buffer.byteLength(message)}`,
    message,
    'from refs/heads/main^0',
  ];
  return Buffer.from(`${[...head, ...lines, 'done'].join('\n')}\n`);
}

const BATCH = 8;
/** Longest time without yielding to the event loop. */
const TURN_MS = 15;
const EXECUTABLE = 0o100n;

interface IntakeLimits {
  readonly fileBytes: number;
  readonly room: number;
}

/** Reads the contents of drafts, and emits those that git lacks. */
export class Intake {
  bytes = 0;

  constructor(
    private readonly files: WorkspaceFs,
    private readonly limits: IntakeLimits,
    private readonly known: Set<string>,
  ) {}

  /** Commands for git-fast-import(1); sets the contents of the drafts. */
  async *take(drafts: readonly Draft[]): AsyncGenerator<Buffer> {
    const last = new Map(drafts.map(draft => [draft.path, draft]));
    const missing = [...last.values()].filter(({ content }) => content === undefined);
    let turn = performance.now();
    for (let at = 0; at < missing.length; at += BATCH) {
      const batch = missing.slice(at, at + BATCH);
      const read = await Promise.all(batch.map(async draft => ({ draft, read: await this.read(draft) })));
      for (const { draft, read: found } of read) {
        const bytes = this.accept(draft, found);
        if (bytes) yield blobCommand(bytes);
      }
      // Missing and small files are read without waiting for anything.
      if (performance.now() - turn < TURN_MS) continue;
      await setImmediate();
      turn = performance.now();
    }
    lendContents(drafts);
  }

  /** Returns the bytes if git needs them. */
  private accept(draft: Draft, found: Reading): Buffer | null {
    if ('unkept' in found) {
      draft.content = found;
      return null;
    }
    const { bytes, executable } = found;
    const blob = nameOf(bytes);
    const isNew = !this.known.has(blob);
    if (isNew && this.bytes + bytes.byteLength > this.limits.room) {
      draft.content = { unkept: 'full' };
      return null;
    }
    draft.content = { blob, executable };
    if (!isNew) return null;
    this.known.add(blob);
    this.bytes += bytes.byteLength;
    return bytes;
  }

  /** Reads a path if it is still as in the draft. */
  private async read({ path, etag, size }: Draft): Promise<Reading> {
    if ((size ?? 0) > this.limits.fileBytes) return { unkept: 'too_large' };
    try {
      await using file = await this.files.openRead(path);
      if (file.entry.size > this.limits.fileBytes) return { unkept: 'too_large' };
      if (file.entry.etag !== etag) return { unkept: 'overwritten' };
      const bytes = await file.bytes();
      // A concurrent writer may have changed it.
      const now = await this.files.stat(path);
      if (now.etag !== etag) return { unkept: 'overwritten' };
      return { bytes, executable: (file.mode & EXECUTABLE) !== 0n };
    } catch (error) {
      if (error instanceof WorkspaceFsError) return { unkept: 'overwritten' };
      throw error;
    }
  }
}

type Reading =
  | { readonly bytes: Buffer; readonly executable: boolean }
  | { readonly unkept: 'too_large' | 'overwritten' };

/** A file that moved on has its content at its new path, with the same entity tag. */
function lendContents(drafts: readonly Draft[]): void {
  const byEtag = new Map<string, Content>();
  for (const { etag, content } of drafts)
    if (etag !== null && content && 'blob' in content) byEtag.set(etag, content);
  for (const draft of drafts)
    if (draft.content === undefined || ('unkept' in draft.content && draft.content.unkept === 'overwritten'))
      draft.content = (draft.etag === null ? undefined : byEtag.get(draft.etag)) ?? { unkept: 'overwritten' };
}

/** The name that git gives to a content (gitformat: objects), in a repository of SHA-256. */
function nameOf(bytes: Buffer): string {
  return createHash('sha256').update(`blob ${bytes.byteLength}\0`).update(bytes).digest('hex');
}
