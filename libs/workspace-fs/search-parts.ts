import { becameShorter } from './file-stream.js';
import type { OpenFile } from './open-file.js';

const PART_BYTES = 4 * 1024 * 1024;
const NEWLINE = 0x0a;

/** Some whole lines of a file. */
interface Part {
  readonly bytes: Buffer;
  /** The number of its first line. */
  readonly line: number;
}

/** A large file in parts that end with a line; a line that is longer than two parts is cut between two characters. */
export async function* partsOf(file: OpenFile, most = PART_BYTES): AsyncGenerator<Part> {
  const { size, path } = file.entry;
  let rest: Buffer = Buffer.alloc(0);
  let line = 1;
  for (let at = 0; at < size; ) {
    const read = await file.readAt(at, Math.min(most, size - at));
    if (read.byteLength === 0) throw becameShorter(path);
    at += read.byteLength;
    const bytes = rest.byteLength > 0 ? Buffer.concat([rest, read]) : read;
    const end = at >= size ? bytes.byteLength : endOfPart(bytes, most);
    rest = bytes.subarray(end);
    if (end === 0) continue;
    const part = bytes.subarray(0, end);
    yield { bytes: part, line };
    for (let found = part.indexOf(NEWLINE); found !== -1; found = part.indexOf(NEWLINE, found + 1)) line++;
  }
}

/** 0 where its only line goes on. */
function endOfPart(bytes: Buffer, most: number): number {
  const end = bytes.lastIndexOf(NEWLINE) + 1;
  if (end > 0 || bytes.byteLength < 2 * most) return end;
  let cut = bytes.byteLength;
  while (cut > 0 && ((bytes[cut - 1] ?? 0) & 0xc0) === 0x80) cut--;
  // What a character begins with goes with the rest of it.
  return cut > 0 && (bytes[cut - 1] ?? 0) >= 0xc0 ? cut - 1 : bytes.byteLength;
}
