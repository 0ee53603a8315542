import { type FileHandle, open } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { constants, createBrotliCompress, createGzip } from 'node:zlib';
import type { Encoding } from './conditions.js';

/** Bytes of the forms that are worth storing. */
export type CompressedSizes = Partial<Record<Encoding, number>>;

/** Up to this size brotli takes its time (quality 9), beyond it less (5). */
const THOROUGH_BYTES = 1024 * 1024;

/** What a form has to save: more than a tenth. */
const WORTH_IT = 0.9;

/** Smaller files fit into the packet that their headers are in. */
const MIN_BYTES = 256;

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

/** Writes a form to `destination`, and leaves it open; undefined where it is not worth storing. */
export async function compressFile(
  source: () => Promise<FileHandle>,
  size: number,
  encoding: Encoding,
  destination: string,
): Promise<{ file: FileHandle; size: number } | undefined> {
  if (size < MIN_BYTES) return undefined;
  return oneOfFew(async () => {
    const read = await source();
    const file = await open(destination, 'wx', 0o440);
    let written = 0;
    let isKept = false;
    try {
      await pipeline(
        read.createReadStream({ highWaterMark: 256 * 1024 }),
        encoding === 'br' ? brotli(size) : createGzip({ level: 9 }),
        async (chunks: AsyncIterable<Buffer>) => {
          for await (const chunk of chunks) {
            written += chunk.length;
            await file.writev([chunk]);
          }
        },
      );
      isKept = written <= size * WORTH_IT;
      return isKept ? { file, size: written } : undefined;
    } finally {
      if (!isKept) await file.close();
      await read.close();
    }
  });
}

const brotli = (size: number) =>
  createBrotliCompress({
    chunkSize: 256 * 1024,
    params: {
      [constants.BROTLI_PARAM_QUALITY]: size <= THOROUGH_BYTES ? 9 : 5,
      [constants.BROTLI_PARAM_SIZE_HINT]: size,
    },
  });
