import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { Identity } from './scripts.js';

/** Why there is no content. */
export const UNKEPT = ['deleted', 'too_large', 'overwritten', 'full'] as const;

export type Content =
  | { readonly blob: string; readonly executable: boolean }
  | { readonly unkept: (typeof UNKEPT)[number] };

/** A file as one observer saw it. The same path may come several times: only the last is read. */
export interface SeenFile {
  readonly path: string;
  /** What tells its content from all others; null where it is gone. */
  readonly etag: string | null;
  /** Undefined until it is read. */
  content: Content | undefined;
}

/** A file as it is now. */
export type Reading =
  | { readonly bytes: Buffer; readonly executable: boolean }
  | { readonly unkept: 'too_large' | 'overwritten' };

type TreeChange =
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
function blobCommand(content: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`blob\ndata ${content.byteLength}\n`), content, Buffer.from('\n')]);
}

/** The commit that changes paths, later ones over earlier ones; its contents are known by their names. */
function commitCommand(changes: readonly TreeChange[], { name, email }: Identity): Buffer {
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
    `committer ${name} <${email}> ${Math.floor(Date.now() / 1000)} +0000`,
    `data ${Buffer.byteLength(message)}`,
    message,
    'from refs/heads/main^0',
  ];
  return Buffer.from(`${[...head, ...lines, 'done'].join('\n')}\n`);
}

const BATCH = 8;
/** Longest time without yielding to the event loop. */
const TURN_MS = 15;

/** Reads the contents of files, and emits those that git lacks. */
export class Intake<T extends SeenFile> {
  bytes = 0;

  constructor(
    private readonly read: (file: T) => Promise<Reading>,
    private readonly room: number,
    private readonly known: Set<string>,
  ) {}

  /** The commit with its contents, for git-fast-import(1); sets the contents of the files. */
  async *commit(files: readonly T[], by: Identity): AsyncGenerator<Buffer> {
    yield* this.take(files);
    yield commitCommand(treeChanges(files), by);
  }

  private async *take(files: readonly T[]): AsyncGenerator<Buffer> {
    const last = new Map(files.map(file => [file.path, file]));
    const missing = [...last.values()].filter(({ content }) => content === undefined);
    let turn = performance.now();
    for (let at = 0; at < missing.length; at += BATCH) {
      const batch = missing.slice(at, at + BATCH);
      const read = await Promise.all(batch.map(async file => ({ file, found: await this.read(file) })));
      for (const { file, found } of read) {
        const bytes = this.accept(file, found);
        if (bytes) yield blobCommand(bytes);
      }
      // Missing and small files are read without waiting for anything.
      if (performance.now() - turn < TURN_MS) continue;
      await setImmediate();
      turn = performance.now();
    }
    lendContents(files);
  }

  /** Returns the bytes if git needs them. */
  private accept(file: T, found: Reading): Buffer | null {
    if ('unkept' in found) {
      file.content = found;
      return null;
    }
    const { bytes, executable } = found;
    const blob = nameOf(bytes);
    const isNew = !this.known.has(blob);
    if (isNew && this.bytes + bytes.byteLength > this.room) {
      file.content = { unkept: 'full' };
      return null;
    }
    file.content = { blob, executable };
    if (!isNew) return null;
    this.known.add(blob);
    this.bytes += bytes.byteLength;
    return bytes;
  }
}

/** A file that moved on has its content at its new path, with the same entity tag. */
function lendContents(files: readonly SeenFile[]): void {
  const byEtag = new Map<string, Content>();
  for (const { etag, content } of files)
    if (etag !== null && content && 'blob' in content) byEtag.set(etag, content);
  for (const file of files)
    if (file.content === undefined || ('unkept' in file.content && file.content.unkept === 'overwritten'))
      file.content = (file.etag === null ? undefined : byEtag.get(file.etag)) ?? { unkept: 'overwritten' };
}

function treeChanges(files: readonly SeenFile[]): TreeChange[] {
  return files.flatMap(({ path, content }): TreeChange[] => {
    if (content === undefined || ('unkept' in content && content.unkept === 'overwritten')) return [];
    return [
      'unkept' in content
        ? { path, gone: true }
        : { path, gone: false, blob: content.blob, executable: content.executable },
    ];
  });
}

/** The name that git gives to a content (gitformat: objects), in a repository of SHA-256. */
function nameOf(bytes: Buffer): string {
  return createHash('sha256').update(`blob ${bytes.byteLength}\0`).update(bytes).digest('hex');
}
