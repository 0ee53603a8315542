import { once } from 'node:events';
import { Transform, type TransformCallback } from 'node:stream';
import type { Extract, Header } from 'tar-stream';

/** Records and long names of one entry (pax, GNU tar). A path may have 4096 bytes; attributes come on top. */
const MAX_ENTRY_HEADER_BYTES = 64 * 1024;
/** Records that hold for every entry that follows: each of them gets a copy. */
const MAX_GLOBAL_HEADER_BYTES = 4 * 1024;

const BLOCK_BYTES = 512;
/** Types of blocks that stand before an entry: pax records, global ones, and long names of GNU tar. */
const LONG_HEADERS = 'xgKLN';

/**
 * Refuses long headers that are out of proportion. tar-stream takes 4 MiB of them, decodes them in one go, and copies all
 * global records for each entry, so that an archive of a megabyte would keep the process busy for hours. The size of an entry
 * is the one that tar-stream found, as records change it; both are always at the same block.
 */
export class HeaderLimiter extends Transform {
  private header: Buffer = Buffer.alloc(0);
  /** Bytes before the next header. */
  private content = 0;

  constructor(private readonly extract: Extract) {
    super();
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.pass(chunk).then(() => done(), done);
  }

  override _flush(done: TransformCallback): void {
    done(null, this.header);
  }

  private async pass(chunk: Buffer): Promise<void> {
    for (let at = 0; at < chunk.length; ) {
      const wanted = this.content || BLOCK_BYTES - this.header.length;
      const part = chunk.subarray(at, at + wanted);
      at += part.length;
      if (this.content > 0) {
        this.content -= part.length;
        this.push(part);
        continue;
      }
      this.header = Buffer.concat([this.header, part]);
      if (part.length === wanted) await this.passHeader();
    }
  }

  private async passHeader(): Promise<void> {
    const { header } = this;
    this.header = Buffer.alloc(0);
    const type = header.toString('latin1', 156, 157);
    if (LONG_HEADERS.includes(type)) {
      const size = sizeOfLongHeader(header);
      const most = type === 'g' ? MAX_GLOBAL_HEADER_BYTES : MAX_ENTRY_HEADER_BYTES;
      if (!(size >= 0)) throw new Error('Invalid tar header: its size is no number');
      if (size > most) throw new Error(`a header has ${size} bytes, and may have ${most}`);
      // tar-stream takes the content of the next entry for that of an empty one.
      if (size > 0) this.push(header);
      this.content = padded(size);
    } else if (isEmpty(header)) this.push(header);
    else {
      const entered = once(this.extract, 'entry') as Promise<[Header]>;
      this.push(header);
      const [entry] = await entered;
      this.content = entry.type === 'directory' ? 0 : padded(entry.size ?? 0);
    }
  }
}

/** As tar-stream reads it: octal, or base 256. */
function sizeOfLongHeader(header: Buffer): number {
  const field = header.subarray(124, 136);
  const [first = 0] = field;
  if (first & 0x80) return first === 0x80 ? Number(`0x${field.toString('hex', 1)}`) : Number.NaN;
  const digits = /^ *\0*([^ ]*)/.exec(field.toString())?.[1];
  return digits ? Number.parseInt(digits, 8) : 0;
}

/** What ends an archive; the checksum does not count. */
function isEmpty(header: Buffer): boolean {
  return header.every((byte, at) => byte === 0 || (at >= 148 && at < 156));
}

function padded(size: number): number {
  return Math.ceil(size / BLOCK_BYTES) * BLOCK_BYTES;
}
