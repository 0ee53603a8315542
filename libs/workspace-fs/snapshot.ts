import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile, stat } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { asWorkspaceError } from './errors.js';
import { isTemporaryName, makerOf } from './path.js';

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
  /** Inode, size and time are as they were, and so is the entity tag: its mode was changed, or it was rewritten and its time set back. */
  isSameTag?: boolean;
}

/** Files and folders, and the bytes of files. */
interface Amount {
  readonly files: number;
  readonly bytes: number;
}

const NOTHING: Amount = { files: 0, bytes: 0 };
/** Looked at before it is the turn of others. */
const LINES_IN_A_TURN = 2000;

const FORMAT = '%y %i %s %T@ %C@ %P\\0';
/** find(1) is looked for where systems have it, and speaks plain C. */
const PLAIN = { PATH: '/usr/bin:/bin', LC_ALL: 'C' };
const TYPES: Record<string, Sighting['type']> = { f: 'file', d: 'directory', l: 'symlink' };

/**
 * What is in a workspace at one moment, by name, inode, size and times: contents are not read. Taken by find(1), which
 * goes from folder to folder by descriptors and follows no links, in a process of its own.
 */
export class Snapshot {
  private constructor(
    private readonly sightings: ReadonlyMap<string, Sighting>,
    /** What takes room and is not shown: temporaries by their makers, and under '' what has a name that no path can say. */
    private readonly hidden: ReadonlyMap<string, Amount>,
  ) {}

  /** Now. `changedAfter` (milliseconds since 1970) leaves out what was not changed since. */
  static async take(root: string, changedAfter?: number): Promise<Snapshot> {
    const child = spawn('find', argumentsFor(root, changedAfter), {
      env: PLAIN,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const [[code], printed] = await Promise.all([once(child, 'close'), buffer(child.stdout)]);
    await refuseFailure(root, code, printed.byteLength);
    return Snapshot.parse(printed);
  }

  /** As {@link take}, into a file that {@link read} reads: it outlives the process. */
  static async save(root: string, file: string): Promise<void> {
    const handle = await open(file, 'w', 0o600);
    try {
      const child = spawn('find', argumentsFor(root), { env: PLAIN, stdio: ['ignore', handle.fd, 'ignore'] });
      const [code] = await once(child, 'exit');
      await refuseFailure(root, code, (await handle.stat()).size);
    } finally {
      await handle.close();
    }
  }

  static async read(file: string): Promise<Snapshot> {
    return Snapshot.parse(await readFile(file));
  }

  private static async parse(printed: Buffer): Promise<Snapshot> {
    const sightings = new Map<string, Sighting>();
    const hidden = new Map<string, Amount>();
    let lines = 0;
    for (let start = 0; start < printed.length; ) {
      const end = printed.indexOf(0, start);
      const line = printed.toString('utf8', start, end === -1 ? printed.length : end);
      start = end === -1 ? printed.length : end + 1;
      if (++lines % LINES_IN_A_TURN === 0) await setImmediate();
      const [code = '', inode = '', size = '', modified = '', changed = ''] = line.split(' ', 5);
      const type = TYPES[code];
      const facts = line.slice(0, [code, inode, size, modified, changed].join(' ').length);
      const path = line.slice(facts.length + 1);
      if (path === '') continue;
      const maker = makerIn(path);
      // The replacement character stands for bytes that are not UTF-8: no path can name them.
      const isNamed = type !== undefined && maker === undefined && !path.includes('\ufffd');
      if (isNamed) sightings.set(path, { type, inode, size: Number(size), modified, facts });
      else addTo(hidden, maker ?? '', type === 'directory' ? 0 : Number(size));
    }
    return new Snapshot(sightings, hidden);
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

  /** What takes room besides, and is not shown; of temporaries by who made them, as their names tell. */
  hiddenBy(maker: string): Amount {
    return this.hidden.get(maker) ?? NOTHING;
  }

  /** Who made temporaries that are in it, as their names tell. */
  makers(): string[] {
    return [...this.hidden.keys()].filter(maker => maker !== '');
  }

  /** As {@link hiddenBy}, of all makers together. */
  allHidden(): Amount {
    let all = NOTHING;
    for (const { files, bytes } of this.hidden.values())
      all = { files: all.files + files, bytes: all.bytes + bytes };
    return all;
  }

  /** All that is in it, as if it had just been made. */
  all(): Difference[] {
    return [...this.sightings].map(([path, sighting]) => differenceOf(path, 'created', sighting));
  }

  /** What became of this by the time of `later`; of folders only that they came or went. */
  async changesTo(later: Snapshot): Promise<Difference[]> {
    let looked = 0;
    const gone = new Map<string, [string, Sighting]>();
    const deleted: Difference[] = [];
    for (const [path, sighting] of this.sightings) {
      if (++looked % LINES_IN_A_TURN === 0) await setImmediate();
      if (later.sightings.get(path)?.type === sighting.type) continue;
      if (sighting.type === 'file') gone.set(identityOf(sighting), [path, sighting]);
      else deleted.push(goneOf(path, sighting));
    }
    const changes: Difference[] = [];
    for (const [path, now] of later.sightings) {
      if (++looked % LINES_IN_A_TURN === 0) await setImmediate();
      const before = this.sightings.get(path);
      if (before?.type === now.type) {
        if (now.type !== 'directory' && before.facts !== now.facts)
          changes.push({
            ...differenceOf(path, 'modified', now),
            isSameTag: identityOf(before) === identityOf(now),
          });
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
async function refuseFailure(root: string, code: number | null, printed: number): Promise<void> {
  if (code === 0 || printed > 0) return;
  // A workspace that was deleted meanwhile is no fault.
  await stat(root).catch(error => {
    throw asWorkspaceError(error, '');
  });
  throw new Error(`find ended with code ${code} and saw nothing`);
}

function argumentsFor(root: string, changedAfter?: number): string[] {
  const since = changedAfter === undefined ? [] : ['-newerct', `@${(changedAfter / 1000).toFixed(3)}`];
  return [root, '-xdev', '-mindepth', '1', ...since, '-printf', FORMAT];
}

/** Whose temporary it is, or lies in; undefined for what is none. */
function makerIn(path: string): string | undefined {
  if (!path.includes('.atelier-')) return undefined;
  const name = path.split('/').find(isTemporaryName);
  return name && makerOf(name);
}

function addTo(hidden: Map<string, Amount>, maker: string, bytes: number): void {
  const so = hidden.get(maker) ?? NOTHING;
  hidden.set(maker, { files: so.files + 1, bytes: so.bytes + bytes });
}

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
