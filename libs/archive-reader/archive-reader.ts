import { isUtf8 } from 'node:buffer';
import type { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { createGunzip } from 'node:zlib';
import tar from 'tar-stream';
import yauzl from 'yauzl';
import { HeaderLimiter } from './header-limiter.js';

/** An archive that is not read: it is broken, or is out of proportion. The message is for the sender of the archive. */
export class ArchiveError extends Error {
  override readonly name = 'ArchiveError';

  constructor(
    readonly code: 'unreadable' | 'too_many_entries',
    message: string,
  ) {
    super(message);
  }
}

/** An archive as a file that may be read anywhere. */
export interface ArchiveFile {
  readonly entry: { readonly size: number };
  readAt(position: number, length: number): Promise<Buffer>;
  /** From `start` up to, but without, `end`. */
  part(start: number, end: number): Readable;
}

/** One entry of an archive. Its content is read before the next entry is asked for, or not at all. */
export interface ArchiveEntry {
  readonly name: string;
  /** other: links, devices and the like. */
  readonly type: 'file' | 'directory' | 'other';
  readonly size: number;
  open(): Promise<AsyncIterable<Uint8Array>>;
}

const MAX_ENTRIES = 50_000;

export function refuseIfTooMany(entries: number): void {
  if (entries > MAX_ENTRIES)
    throw new ArchiveError('too_many_entries', `The archive has more than ${MAX_ENTRIES} entries`);
}

/** Counts what an archive unpacks to; throws when that is too much. */
export type Meter = (bytes: number) => void;

/** Entries between two turns of the event loop. */
const ENTRIES_IN_A_TURN = 200;

const S_IFMT = 0o170000;
const S_IFREG = 0o100000;
const S_IFDIR = 0o040000;

/** How a zip begins: with an entry, with its end where it is empty, or as a part of several. */
const ZIP = ['PK\x03\x04', 'PK\x05\x06', 'PK\x07\x08'];

/** Other archives, by how they begin. */
const OTHERS: readonly (readonly [begins: string, name: string])[] = [
  ['\xfd7zXZ\0', 'an xz archive'],
  ['BZh', 'a bzip2 archive'],
  ['\x28\xb5\x2f\xfd', 'a zstd archive'],
  ["7z\xbc\xaf'\x1c", 'a 7z archive'],
  ['Rar!', 'a RAR archive'],
];

/** The entries of a zip, tar or tar.gz, told apart by how it begins. @throws ArchiveError; whatever `meter` throws */
export async function* entriesOf(file: ArchiveFile, meter: Meter): AsyncGenerator<ArchiveEntry> {
  const head = (await file.readAt(0, 8)).toString('latin1');
  const isZip = ZIP.some(begins => head.startsWith(begins));
  const isGzip = head.startsWith('\x1f\x8b');
  const [, other] = OTHERS.find(([begins]) => head.startsWith(begins)) ?? [];
  if (other !== undefined)
    throw unreadable(
      `The file is ${other}, and only zip, tar and tar.gz are unpacked here; pack it as one of them`,
    );
  try {
    yield* isZip ? zipEntries(file, meter) : tarEntries(file, isGzip, meter);
  } catch (error) {
    throw explained(error);
  }
}

/**
 * The content of an entry. What is wrong with it may show before anyone reads it, and must not be an error without a
 * listener, which would end the process.
 */
function contentOf(stream: Readable): AsyncIterable<Uint8Array> {
  stream.on('error', () => undefined);
  return (async function* () {
    try {
      yield* stream;
    } catch (error) {
      throw explained(error);
    }
  })();
}

function explained(error: unknown): unknown {
  if (!(error instanceof Error) || !isFaultOfArchive(error)) return error;
  if (error.message === 'strong encryption is not supported') return unreadable(ENCRYPTED);
  return unreadable(`The archive cannot be read: ${error.message}`);
}

/** Its readers report a broken archive by plain errors, or zlib's. */
function isFaultOfArchive(error: Error & { code?: string }): boolean {
  return error.constructor === Error && (error.code === undefined || error.code.startsWith('Z_'));
}

const NO_ARCHIVE = 'The file is not a zip, tar or tar.gz archive';
/** What tar-stream says of what is none. */
const NO_TAR = /^(?:Invalid tar header|Unexpected end of data)/;
const ENCRYPTED = 'The archive is encrypted; unpack it where its password is known, and pack it without one';

function unreadable(message: string): ArchiveError {
  return new ArchiveError('unreadable', message);
}

async function* zipEntries(file: ArchiveFile, meter: Meter): AsyncGenerator<ArchiveEntry> {
  const zip = await yauzl.fromRandomAccessReaderPromise(new FileReader(file), file.entry.size, {
    autoClose: false,
    lazyEntries: true,
    decodeStrings: false,
  });
  refuseIfTooMany(zip.entryCount);
  let entries = 0;
  for await (const entry of zip.eachEntry()) {
    if (++entries % ENTRIES_IN_A_TURN === 0) await setImmediate();
    meter(entry.uncompressedSize);
    const name = nameOf(entry);
    const type = typeOf(entry, name);
    if (type === 'file') refuseUnlessReadable(entry, name);
    yield {
      name,
      type,
      size: entry.uncompressedSize,
      open: async () => {
        const opened = zip.openReadStreamPromise(entry).catch(error => Promise.reject(explained(error)));
        return contentOf(await opened);
      },
    };
  }
}

/**
 * The name, with folders after slashes. Linux zip and the macOS Finder write UTF-8 without the flag that says so
 * (APPNOTE.TXT appendix D), and PowerShell 5 writes backslashes (4.4.17.1 allows none). What is not UTF-8 is code page 437.
 */
function nameOf({ fileNameRaw, extraFields, generalPurposeBitFlag }: yauzl.Entry): string {
  const flags = isUtf8(fileNameRaw) ? generalPurposeBitFlag | UTF8_FLAG : generalPurposeBitFlag;
  return yauzl.getFileNameLowLevel(flags, fileNameRaw, extraFields, false).replaceAll('\\', '/');
}

const UTF8_FLAG = 0x800;
const STORED = 0;
const DEFLATED = 8;

/** Before anything is unpacked, not in the middle. */
function refuseUnlessReadable(entry: yauzl.Entry, name: string): void {
  if (entry.isEncrypted()) throw unreadable(ENCRYPTED);
  const { compressionMethod: method } = entry;
  if (method !== STORED && method !== DEFLATED)
    throw unreadable(
      `${JSON.stringify(name)} in the archive is compressed by method ${method}, which is not read here; pack it with deflate`,
    );
}

function typeOf({ externalFileAttributes, versionMadeBy }: yauzl.Entry, name: string): ArchiveEntry['type'] {
  if (name.endsWith('/')) return 'directory';
  // Only where Unix made it does the upper half hold a mode (APPNOTE.TXT 4.4.15).
  const mode = UNIX_MAKERS.includes(versionMadeBy >> 8) ? (externalFileAttributes >>> 16) & S_IFMT : 0;
  if (mode === S_IFDIR) return 'directory';
  return mode === 0 || mode === S_IFREG ? 'file' : 'other';
}

/** Unix, and macOS. */
const UNIX_MAKERS = [3, 19];

/** The reader asks for less than a hundred bytes at a time. */
const WINDOW_BYTES = 64 * 1024;
const EMPTY: Buffer = Buffer.alloc(0);

class FileReader extends yauzl.RandomAccessReader {
  private window: Buffer = EMPTY;
  private windowAt = 0;

  constructor(private readonly file: ArchiveFile) {
    super();
  }

  override read(
    target: Buffer,
    offset: number,
    length: number,
    position: number,
    done: (error: Error | null, bytesRead?: number) => void,
  ): void {
    this.fill(target, offset, length, position).then(bytesRead => done(null, bytesRead), done);
  }

  private async fill(target: Buffer, offset: number, length: number, position: number): Promise<number> {
    const isInside = position >= this.windowAt && position + length <= this.windowAt + this.window.length;
    if (!isInside) {
      this.window = await this.file.readAt(position, Math.max(length, WINDOW_BYTES));
      this.windowAt = position;
    }
    const from = position - this.windowAt;
    return this.window.copy(target, offset, from, from + length);
  }

  override _readStreamForRange(start: number, end: number): Readable {
    return this.file.part(start, end);
  }
}

async function* tarEntries(file: ArchiveFile, isGzip: boolean, meter: Meter): AsyncGenerator<ArchiveEntry> {
  const extract = tar.extract();
  const limiter = new HeaderLimiter(extract);
  const bytes = file.part(0, file.entry.size);
  const plain = isGzip ? bytes.pipe(createGunzip()) : bytes;
  bytes.once('error', error => extract.destroy(error));
  plain.once('error', error => extract.destroy(error));
  limiter.once('error', error => extract.destroy(error));
  plain.on('data', (chunk: Buffer) => {
    try {
      meter(chunk.byteLength);
    } catch (error) {
      extract.destroy(error as Error);
    }
  });
  plain.pipe(limiter).pipe(extract);
  let taken = false;
  let entries = 0;
  try {
    for await (const entry of extract) {
      refuseIfTooMany(++entries);
      if (entries % ENTRIES_IN_A_TURN === 0) await setImmediate();
      const { name, type, size = 0 } = entry.header;
      taken = false;
      yield {
        name,
        type:
          type === 'file' || type === 'contiguous-file'
            ? 'file'
            : type === 'directory'
              ? 'directory'
              : 'other',
        size,
        open: async () => {
          taken = true;
          return contentOf(entry as unknown as Readable);
        },
      };
      if (!taken) entry.resume();
    }
  } catch (error) {
    if (entries === 0 && error instanceof Error && NO_TAR.test(error.message)) throw unreadable(NO_ARCHIVE);
    throw error;
  } finally {
    bytes.destroy();
    plain.destroy();
    limiter.destroy();
    extract.destroy();
  }
}
