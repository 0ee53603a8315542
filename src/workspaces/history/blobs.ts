import type { OpenFile } from '#libs/workspace-fs/index.js';

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
