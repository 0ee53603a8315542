import type { FileHandle } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import {
  type BrotliOptions,
  brotliCompress,
  constants,
  createBrotliCompress,
  createGzip,
  gzip,
} from 'node:zlib';
import type { Encoding } from './conditions.js';
import { isCompressible } from './media-type.js';

/** Bytes of the forms that are worth storing. */
export type CompressedSizes = Partial<Record<Encoding, number>>;

/** Up to this size brotli takes its time (quality 9), beyond it less (5). */
const THOROUGH_BYTES = 1024 * 1024;

/** What a form has to save: more than a tenth. */
const WORTH_IT = 0.9;

/** Smaller files fit into the packet that their headers are in. */
const MIN_COMPRESSED_BYTES = 256;

const CHUNK_BYTES = 256 * 1024;

/** Whether a file may have forms: by its type, and its size. */
export const isWorthCompressing = (size: number, type: string): boolean =>
  size >= MIN_COMPRESSED_BYTES && isCompressible(type);

const brotliOf = promisify(brotliCompress);
const gzipOf = promisify(gzip);

/** Files at once, of the four threads that zlib shares with the file system and DNS. */
const MAX_AT_ONCE = 2;

let active = 0;
const waiting: (() => void)[] = [];

async function oneOfFew<T>(work: () => Promise<T>): Promise<T> {
  if (active >= MAX_AT_ONCE) await new Promise<void>(resolve => waiting.push(resolve));
  else active++;
  try {
    return await work();
  } finally {
    const next = waiting.shift();
    if (next) next();
    else active--;
  }
}

/** The form of a few bytes; undefined where it is not worth storing. */
export async function compressBytes(bytes: Buffer, encoding: Encoding): Promise<Buffer | undefined> {
  const compressed = await oneOfFew(() =>
    encoding === 'br' ? brotliOf(bytes, brotliOptions(bytes.length)) : gzipOf(bytes, GZIP),
  );
  return compressed.length <= bytes.length * WORTH_IT ? compressed : undefined;
}

/** Writes a form of `size` bytes to `destination`, and answers its own; undefined where it is not worth storing. */
export async function compressFile(
  source: FileHandle,
  size: number,
  encoding: Encoding,
  destination: FileHandle,
): Promise<number | undefined> {
  return oneOfFew(async () => {
    let written = 0;
    await pipeline(
      source.createReadStream({ highWaterMark: CHUNK_BYTES, autoClose: false }),
      encoding === 'br' ? createBrotliCompress(brotliOptions(size)) : createGzip(GZIP),
      async (chunks: AsyncIterable<Buffer>) => {
        for await (const chunk of chunks) {
          written += chunk.length;
          await destination.writev([chunk]);
        }
      },
    );
    return written <= size * WORTH_IT ? written : undefined;
  });
}

const GZIP = { level: 9 };

/** The window is no larger than the file: its tables are made anew for each one, and are of its size. */
const brotliOptions = (size: number): BrotliOptions => ({
  chunkSize: Math.min(CHUNK_BYTES, size),
  params: {
    [constants.BROTLI_PARAM_QUALITY]: size <= THOROUGH_BYTES ? 9 : 5,
    [constants.BROTLI_PARAM_SIZE_HINT]: size,
    [constants.BROTLI_PARAM_LGWIN]: Math.min(
      constants.BROTLI_DEFAULT_WINDOW,
      Math.max(constants.BROTLI_MIN_WINDOW_BITS, Math.ceil(Math.log2(size)) + 1),
    ),
  },
});
