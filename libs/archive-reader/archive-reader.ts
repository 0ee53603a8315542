import type { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { createGunzip } from 'node:zlib';
import tar, { type Extract } from 'tar-stream';
import yauzl from 'yauzl';

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

/** Records and long names of one entry (pax, GNU tar). A path may have 4096 bytes; attributes come on top. */
const MAX_ENTRY_HEADER_BYTES = 64 * 1024;
/** Records that hold for every entry that follows: each of them gets a copy. */
const MAX_GLOBAL_HEADER_BYTES = 4 * 1024;

/** How tar-stream decodes what stands before an entry. What this throws, its reader gets as the fault of the archive. */
interface HeaderDecoder {
  readonly _header: { readonly type: string };
  _decodeLongHeader(bytes: Uint8Array): void;
}

/**
 * Refuses headers that are out of proportion. tar-stream takes 4 MiB of them, decodes them in one go, and copies all global
 * records for each entry, so that an archive of a megabyte would keep the process busy for hours.
 */
function limitHeaders(extract: Extract): Extract {
  const decoder = extract as unknown as HeaderDecoder;
  const decode = decoder._decodeLongHeader.bind(extract);
  decoder._decodeLongHeader = bytes => {
    const isGlobal = decoder._header.type === 'pax-global-header';
    const most = isGlobal ? MAX_GLOBAL_HEADER_BYTES : MAX_ENTRY_HEADER_BYTES;
    if (bytes.byteLength > most)
      throw new Error(`a header has ${bytes.byteLength} bytes, and may have ${most}`);
    decode(bytes);
  };
  return extract;
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

/** The entries of a zip, tar or tar.gz, told apart by how it begins. @throws ArchiveError; whatever `meter` throws */
export async function* entriesOf(file: ArchiveFile, meter: Meter): AsyncGenerator<ArchiveEntry> {
  const head = await file.readAt(0, 4);
  const isZip = head.subarray(0, 2).toString('latin1') === 'PK';
  const isGzip = head[0] === 0x1f && head[1] === 0x8b;
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
  return new ArchiveError('unreadable', `The archive cannot be read: ${error.message}`);
}

/** Its readers report a broken archive by plain errors, or zlib's. */
function isFaultOfArchive(error: Error & { code?: string }): boolean {
  return error.constructor === Error && (error.code === undefined || error.code.startsWith('Z_'));
}

async function* zipEntries(file: ArchiveFile, meter: Meter): AsyncGenerator<ArchiveEntry> {
  const zip = await yauzl.fromRandomAccessReaderPromise(new FileReader(file), file.entry.size, {
    autoClose: false,
    lazyEntries: true,
    strictFileNames: true,
  });
  refuseIfTooMany(zip.entryCount);
  let entries = 0;
  for await (const entry of zip.eachEntry()) {
    if (++entries % ENTRIES_IN_A_TURN === 0) await setImmediate();
    meter(entry.uncompressedSize);
    yield {
      name: entry.fileName,
      type: typeOf(entry),
      size: entry.uncompressedSize,
      open: async () => contentOf(await zip.openReadStreamPromise(entry)),
    };
  }
}

function typeOf({ fileName, externalFileAttributes, versionMadeBy }: yauzl.Entry): ArchiveEntry['type'] {
  if (fileName.endsWith('/')) return 'directory';
  // Only where Unix made it does the upper half hold a mode (APPNOTE.TXT 4.4.15).
  const mode = versionMadeBy >> 8 === 3 ? (externalFileAttributes >>> 16) & S_IFMT : 0;
  if (mode === S_IFDIR) return 'directory';
  return mode === 0 || mode === S_IFREG ? 'file' : 'other';
}

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
  const extract = limitHeaders(tar.extract());
  const bytes = file.part(0, file.entry.size);
  const plain = isGzip ? bytes.pipe(createGunzip()) : bytes;
  bytes.once('error', error => extract.destroy(error));
  plain.once('error', error => extract.destroy(error));
  plain.on('data', (chunk: Buffer) => {
    try {
      meter(chunk.byteLength);
    } catch (error) {
      extract.destroy(error as Error);
    }
  });
  plain.pipe(extract as unknown as NodeJS.WritableStream);
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
  } finally {
    bytes.destroy();
    plain.destroy();
    extract.destroy();
  }
}
