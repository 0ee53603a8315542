import { constants, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Descriptor } from './descriptor.js';

let root: string;
let file: string;

beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'atelier-descriptor-'));
  file = path.join(root, 'file');
  writeFileSync(file, Buffer.alloc(1_000_000, 'a'));
});
afterEach(() => rmSync(root, { recursive: true }));

it('reads what there is, and nothing at the end', async () => {
  const descriptor = await Descriptor.open(file, constants.O_RDONLY);
  for (const [length, position, expected] of [
    [10, 999_995, 5],
    [10, 1_000_000, 0],
    [900_000, 500_000, 500_000],
  ] as const)
    expect(await descriptor.read(Buffer.alloc(length), position)).toBe(expected);
  truncateSync(file);
  expect(await descriptor.read(Buffer.alloc(10), 0)).toBe(0);
  await descriptor.close();
});

it('is closed when what is under way has ended, once, and is not read after that', async () => {
  const descriptor = await Descriptor.open(file, constants.O_RDONLY);
  const order: string[] = [];
  const reading = descriptor.read(Buffer.alloc(1_000_000), 0).then(() => order.push('read'));
  const closing = [descriptor.close(), descriptor.close()].map(close =>
    close.then(() => order.push('closed')),
  );
  await expect(descriptor.read(Buffer.alloc(10), 0)).rejects.toThrow('closed');
  await Promise.all([reading, ...closing]);
  expect(order).toEqual(['read', 'closed', 'closed']);
});
