import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { Manifest, SiteFile } from './manifest.js';

const compress = promisify(gzip);
const decompress = promisify(gunzip);

/** The first line of the text; then lines of up to {@link FILES_PER_LINE} files, each an array. */
interface Head extends Omit<Manifest, 'files'> {
  format: 1;
  types: string[];
}

type Row = [path: string, hash: string, size: number, type: number, br: number, gz: number, hashed: 0 | 1];

/** A line is read at once, and others get their turn before the next. */
const FILES_PER_LINE = 500;

/** What a manifest may unpack to: far above 20,000 files with the longest names. */
const MAX_BYTES = 64 * 1024 * 1024;

/** Writes a manifest: gzip of lines of JSON. The same manifest makes the same bytes. Compressed off the event loop. */
export async function encodeManifest({ files, spa, headers, redirects }: Manifest): Promise<Buffer> {
  const types = [...new Set(files.map(({ type }) => type))];
  const numbers = new Map(types.map((type, index) => [type, index]));
  const head: Head = { format: 1, spa, headers, redirects, types };
  const lines = [JSON.stringify(head)];
  for (let start = 0; start < files.length; start += FILES_PER_LINE) {
    const rows = files
      .slice(start, start + FILES_PER_LINE)
      .map(file => [
        file.path,
        file.hash,
        file.size,
        numbers.get(file.type),
        file.br ?? -1,
        file.gz ?? -1,
        Number(file.hashed),
      ]);
    lines.push(JSON.stringify(rows));
    await nextTurn();
  }
  return compress(`${lines.join('\n')}\n`);
}

/** Reads what {@link encodeManifest} wrote; lets others run every 500 files. Throws where it is something else. */
export async function decodeManifest(encoded: Buffer): Promise<Manifest> {
  const text = await decompress(encoded, { maxOutputLength: MAX_BYTES });
  let start = text.indexOf(0x0a) + 1;
  const { format, types, ...rest } = JSON.parse(text.toString('utf8', 0, start)) as Head;
  if (format !== 1) throw new Error(`The format of the manifest is not known: ${format}`);
  const files: SiteFile[] = [];
  while (start < text.length) {
    const end = text.indexOf(0x0a, start);
    for (const row of JSON.parse(text.toString('utf8', start, end)) as Row[]) files.push(fileOf(row, types));
    start = end + 1;
    await nextTurn();
  }
  return { files, ...rest };
}

function fileOf([path, hash, size, type, br, gz, hashed]: Row, types: readonly string[]): SiteFile {
  return {
    path,
    hash,
    size,
    type: types[type] ?? 'application/octet-stream',
    ...(br < 0 ? {} : { br }),
    ...(gz < 0 ? {} : { gz }),
    hashed: hashed === 1,
  };
}

/** sha256 of an encoded manifest, in hexadecimal digits. */
export const manifestHash = (encoded: Buffer): string => createHash('sha256').update(encoded).digest('hex');
