import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { BackgroundWatch } from './index.js';

let root: string;

beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'background-watch-'));
});
afterEach(() => rmSync(root, { recursive: true }));

/** A watch with the scans that it asks for: each is answered by hand. */
function watched(onFailure: (error: unknown) => void = error => expect(error).toBeUndefined()) {
  type Scan = PromiseWithResolvers<ReadonlyMap<string, string> | null>;
  const scans: ((scan: Scan) => void)[] = [];
  const watch = new BackgroundWatch(
    root,
    () => {
      const scan: Scan = Promise.withResolvers();
      scans.shift()?.(scan);
      return scan.promise;
    },
    onFailure,
  );
  return { watch, next: () => new Promise<Scan>(resolve => scans.push(resolve)) };
}

it('scans after a change, also in a folder that a scan found', async () => {
  const { watch, next } = watched();
  mkdirSync(path.join(root, 'a'));
  // The folder itself is new to it, and so is what the first scan finds.
  const first = next();
  watch.start(new Map());
  const second = next();
  (await first).resolve(new Map([['a', '1']]));
  (await second).resolve(new Map([['a', '1']]));
  const third = next();
  writeFileSync(path.join(root, 'a', 'b'), 'b');
  (await third).resolve(new Map([['a', '1']]));
  await watch.close();
});

it('ends with the error of a scan', async () => {
  const failed = Promise.withResolvers<unknown>();
  const { watch, next } = watched(failed.resolve);
  const scan = next();
  watch.start(new Map());
  const error = new Error('The disk is gone');
  (await scan).reject(error);
  expect(await failed.promise).toBe(error);
  await watch.close();
});

it('is closed when the scan that runs has ended', async () => {
  const { watch, next } = watched();
  const scan = next();
  watch.start(new Map());
  const running = await scan;
  const order: string[] = [];
  const closed = watch.close().then(() => order.push('closed'));
  order.push('scanned');
  running.resolve(null);
  await closed;
  expect(order).toEqual(['scanned', 'closed']);
});
