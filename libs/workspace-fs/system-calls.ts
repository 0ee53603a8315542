import * as fs from 'node:fs';
import { promisify } from 'node:util';
import { atOnce } from './at-once.js';

/**
 * What is asked of the kernel for each file, at once where it can be (see {@link atOnce}). Not here is what may take long by
 * its nature: making durable, moving many bytes, and removing a file that may be large.
 */

/** A path as names of any bytes make it. */
export type KernelPath = string | Buffer;

const openLater = promisify(fs.open);
const readLater = promisify(fs.read);
const writeLater = promisify(fs.write);
const makeDirectoryLater = promisify(fs.mkdir);
const renameLater = promisify(fs.rename);
const linkLater = promisify(fs.link);
const unlinkLater = promisify(fs.unlink);
const listLater = promisify(fs.readdir);
const changeOwnerLater = promisify(fs.fchown);
const changeModeLater = promisify(fs.fchmod);
const changeTimesLater = promisify(fs.futimes);

/** Up to this size bytes are moved before the thread pool would have heard of it, at about 10 GB/s. */
const QUICK_BYTES = 256 * 1024;

export function openDescriptor(path: KernelPath, flags: number, mode?: number) {
  const later = () => openLater(path, flags, mode);
  return atOnce(() => fs.openSync(path, flags, mode), later);
}

/** Bytes from `position` on into `target`; how many there were. */
export function readSome(fd: number, target: Buffer, position: number): number | Promise<number> {
  const later = async () => (await readLater(fd, target, 0, target.byteLength, position)).bytesRead;
  if (target.byteLength > QUICK_BYTES) return later();
  return atOnce(() => fs.readSync(fd, target, 0, target.byteLength, position), later);
}

/** Bytes from `start` on to where the file was written last; how many were taken. */
export function writeSome(fd: number, bytes: Uint8Array, start: number): number | Promise<number> {
  const later = async () => (await writeLater(fd, bytes, start)).bytesWritten;
  if (bytes.byteLength - start > QUICK_BYTES) return later();
  return atOnce(() => fs.writeSync(fd, bytes, start), later);
}

/** What is there, a link itself; null for nothing. */
export function look(path: KernelPath): fs.BigIntStats | null | Promise<fs.BigIntStats | null> {
  const now = () => fs.lstatSync(path, { bigint: true, throwIfNoEntry: false }) ?? null;
  return atOnce(now, () => lookLater(path));
}

async function lookLater(path: KernelPath): Promise<fs.BigIntStats | null> {
  try {
    return await fs.promises.lstat(path, { bigint: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** The names in a folder, as bytes. */
export function list(path: KernelPath, isSmall: boolean): string[] | Promise<string[]> {
  const later = () => listLater(path, 'latin1');
  // As long as it takes to look at a few things.
  return isSmall ? atOnce(() => fs.readdirSync(path, 'latin1'), later, 4) : later();
}

export function makeDirectory(path: KernelPath, mode: number): void | Promise<void> {
  const now = () => void fs.mkdirSync(path, mode);
  return atOnce(now, async () => void (await makeDirectoryLater(path, mode)));
}

export function rename(from: KernelPath, to: KernelPath): void | Promise<void> {
  return atOnce(
    () => fs.renameSync(from, to),
    () => renameLater(from, to),
  );
}

export function link(from: KernelPath, to: KernelPath): void | Promise<void> {
  return atOnce(
    () => fs.linkSync(from, to),
    () => linkLater(from, to),
  );
}

/** A name of a file that has another: unlike the removal of a large file, it frees nothing. */
export function dropName(path: KernelPath): void | Promise<void> {
  return atOnce(
    () => fs.unlinkSync(path),
    () => unlinkLater(path),
  );
}

/** The owner first: a change of owner takes bits of the mode away. */
export function handOver(fd: number, owner: { uid: number; gid: number } | undefined, mode: number) {
  const now = () => {
    if (owner) fs.fchownSync(fd, owner.uid, owner.gid);
    fs.fchmodSync(fd, mode);
  };
  return atOnce(now, async () => {
    if (owner) await changeOwnerLater(fd, owner.uid, owner.gid);
    await changeModeLater(fd, mode);
  });
}

export function setModified(fd: number, milliseconds: number): void | Promise<void> {
  // Half a microsecond more: what has no exact number as seconds is cut off, and would be a millisecond less.
  const seconds = (milliseconds + 0.0005) / 1000;
  return atOnce(
    () => fs.futimesSync(fd, seconds, seconds),
    () => changeTimesLater(fd, seconds, seconds),
  );
}
