import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { isTemporaryName } from './path.js';

/** What is at a path, as far as telling whether it changed needs it. */
interface Sighting {
  type: 'file' | 'directory' | 'symlink';
  inode: string;
  size: number;
  /** Seconds with a fraction, as find(1) prints them. */
  modified: string;
  /** All of the above and the time of the last change of the inode, as text. */
  facts: string;
}

/** A difference between two snapshots. */
export interface Difference {
  path: string;
  kind: 'created' | 'modified' | 'deleted' | 'moved';
  /** Where a file was that moved: the same inode, size and time under another path. */
  from?: string;
  type: Sighting['type'];
  size: number | null;
  etag: string | null;
}

const FORMAT = '%y %i %s %T@ %C@ %P\\0';
/** find(1) is looked for where systems have it, and speaks plain C. */
const PLAIN = { PATH: '/usr/bin:/bin', LC_ALL: 'C' };
const TYPES: Record<string, Sighting['type']> = { f: 'file', d: 'directory', l: 'symlink' };

/**
 * What is in a workspace at one moment, by name, inode, size and times: contents are not read. Taken by find(1), which
 * goes from folder to folder by descriptors and follows no links, in a process of its own.
 */
export class Snapshot {
  private constructor(private readonly sightings: ReadonlyMap<string, Sighting>) {}

  /** Now. `changedAfter` (milliseconds since 1970) leaves out what was not changed since. */
  static async take(root: string, changedAfter?: number): Promise<Snapshot> {
    const child = spawn('find', argumentsFor(root, changedAfter), {
      env: PLAIN,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const [[code], printed] = await Promise.all([once(child, 'close'), buffer(child.stdout)]);
    refuseFailure(code, printed.byteLength);
    return Snapshot.parse(printed);
  }

  /** As {@link take}, into a file that {@link read} reads: it outlives the process. */
  static async save(root: string, file: string): Promise<void> {
    const handle = await open(file, 'w', 0o600);
    try {
      const child = spawn('find', argumentsFor(root), { env: PLAIN, stdio: ['ignore', handle.fd, 'ignore'] });
      const [code] = await once(child, 'exit');
      refuseFailure(code, (await handle.stat()).size);
    } finally {
      await handle.close();
    }
  }

  static async read(file: string): Promise<Snapshot> {
    return Snapshot.parse(await readFile(file));
  }

  private static parse(printed: Buffer): Snapshot {
    const sightings = new Map<string, Sighting>();
    for (const line of printed.toString('utf8').split('\0')) {
      const [code = '', inode = '', size = '', modified = '', changed = ''] = line.split(' ', 5);
      const type = TYPES[code];
      const facts = line.slice(0, [code, inode, size, modified, changed].join(' ').length);
      const path = line.slice(facts.length + 1);
      // The replacement character stands for bytes that are not UTF-8: no path can name them.
      if (type && path !== '' && !path.includes('\ufffd') && !isTemporary(path))
        sightings.set(path, { type, inode, size: Number(size), modified, facts });
    }
    return new Snapshot(sightings);
  }

  get count(): number {
    return this.sightings.size;
  }

  /** Its folders, each with what tells it from another of the same name. */
  folders(): ReadonlyMap<string, string> {
    const folders = [...this.sightings].filter(([, { type }]) => type === 'directory');
    return new Map(folders.map(([path, { inode }]) => [path, inode]));
  }

  /** Files and links, their bytes together, and folders. */
  totals(): { files: number; bytes: number; folders: number } {
    let files = 0;
    let bytes = 0;
    for (const { type, size } of this.sightings.values()) {
      if (type === 'directory') continue;
      files++;
      bytes += size;
    }
    return { files, bytes, folders: this.sightings.size - files };
  }

  /** All that is in it, as if it had just been made. */
  all(): Difference[] {
    return [...this.sightings].map(([path, sighting]) => differenceOf(path, 'created', sighting));
  }

  /** What became of this by the time of `later`; of folders only that they came or went. */
  changesTo(later: Snapshot): Difference[] {
    const gone = new Map<string, [string, Sighting]>();
    const deleted: Difference[] = [];
    for (const [path, sighting] of this.sightings) {
      if (later.sightings.get(path)?.type === sighting.type) continue;
      if (sighting.type === 'file') gone.set(identityOf(sighting), [path, sighting]);
      else deleted.push(goneOf(path, sighting));
    }
    const changes: Difference[] = [];
    for (const [path, now] of later.sightings) {
      const before = this.sightings.get(path);
      if (before?.type === now.type) {
        if (now.type !== 'directory' && before.facts !== now.facts)
          changes.push(differenceOf(path, 'modified', now));
        continue;
      }
      const moved = now.type === 'file' ? gone.get(identityOf(now)) : undefined;
      if (moved) gone.delete(identityOf(now));
      changes.push({
        ...differenceOf(path, moved ? 'moved' : 'created', now),
        ...(moved ? { from: moved[0] } : {}),
      });
    }
    for (const [path, sighting] of gone.values()) deleted.push(goneOf(path, sighting));
    return [...deleted, ...changes];
  }
}

/** find(1) also complains of what vanishes while it looks, and has the rest; with nothing at all it did not work. */
function refuseFailure(code: number | null, printed: number): void {
  if (code !== 0 && printed === 0) throw new Error(`find ended with code ${code} and saw nothing`);
}

function argumentsFor(root: string, changedAfter?: number): string[] {
  const since = changedAfter === undefined ? [] : ['-newerct', `@${(changedAfter / 1000).toFixed(3)}`];
  return [root, '-xdev', '-mindepth', '1', ...since, '-printf', FORMAT];
}

const isTemporary = (path: string) => path.includes('.atelier-') && path.split('/').some(isTemporaryName);
const identityOf = ({ inode, size, modified }: Sighting) => `${inode} ${size} ${modified}`;

function differenceOf(path: string, kind: Difference['kind'], sighting: Sighting): Difference {
  const { type, size } = sighting;
  const isFile = type === 'file';
  return { path, kind, type, size: isFile ? size : null, etag: isFile ? etagOf(sighting) : null };
}

function goneOf(path: string, { type }: Sighting): Difference {
  return { path, kind: 'deleted', type, size: null, etag: null };
}

/** The same text as `Entry.etag`. */
function etagOf({ inode, size, modified }: Sighting): string {
  const [seconds = '0', fraction = ''] = modified.split('.');
  const part = BigInt(fraction.slice(0, 9).padEnd(9, '0'));
  const nanoseconds = BigInt(seconds) * 1_000_000_000n + (seconds.startsWith('-') ? -part : part);
  return `"${BigInt(inode).toString(36)}-${size.toString(36)}-${nanoseconds.toString(36)}"`;
}
