import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { setImmediate } from 'node:timers/promises';
import { asWorkspaceError, WorkspaceFsError } from './errors.js';
import { isTemporaryName, joinPath, MAX_COMPONENTS, MAX_PATH_BYTES, makerOf } from './path.js';

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

/** Names and depths, not paths: those of folders that lie in each other add up to gigabytes. */
const FACTS = '%i %s %T@ %C@ %d %f\\0';
/** The last start point of find(1): its record, which no file can have, says that the listing is whole. */
const LAST = '/dev/null';
const END = 'end';
/** The type of a folder that the service may not list. */
const CLOSED = 'closed';
/** The type of a folder that was not changed since, which what lies in it has to be told. */
const PASSED = 'passed';
/** find(1) is looked for where systems have it, and speaks plain C. */
const PLAIN = { PATH: '/usr/bin:/bin', LC_ALL: 'C' };
const TYPES: Record<string, Sighting['type']> = {
  f: 'file',
  d: 'directory',
  l: 'symlink',
  [CLOSED]: 'directory',
};

/**
 * What is in a workspace at one moment, by name, inode, size and times: contents are not read. Taken by find(1), which
 * goes from folder to folder by descriptors and follows no links, in a process of its own.
 */
export class Snapshot {
  private constructor(
    private readonly sightings: ReadonlyMap<string, Sighting>,
    /** What takes room and is not shown: temporaries by their makers, and under '' what no path can name. */
    private readonly hidden: ReadonlyMap<string, Amount>,
    /** Folders whose contents could not be listed. */
    private readonly closed: ReadonlySet<string>,
  ) {}

  /**
   * Now. `changedAfter` (milliseconds since 1970) leaves out what was not changed since. Throws `busy` where the listing
   * broke off.
   */
  static async take(root: string, changedAfter?: number): Promise<Snapshot> {
    return Snapshot.parse(await listing(root, changedAfter, buffer));
  }

  /** As {@link take}, into a file that {@link read} reads: it outlives the process. */
  static async save(root: string, file: string): Promise<void> {
    // Written by this process: of find(1) one could not tell a full disk from a file that vanished.
    await listing(root, undefined, printed =>
      pipeline(printed, createWriteStream(file, { mode: 0o600 })).catch(error => {
        throw asWorkspaceError(error, '');
      }),
    );
  }

  /** Throws where the file is not whole: its process or machine ended while it was written. */
  static async read(file: string): Promise<Snapshot> {
    return Snapshot.parse(await readFile(file));
  }

  private static async parse(printed: Buffer): Promise<Snapshot> {
    const sightings = new Map<string, Sighting>();
    const hidden = new Map<string, Amount>();
    const closed = new Set<string>();
    const length = printed.length - END.length - 1;
    if (length < 0 || printed.toString('utf8', length) !== `${END}\0`)
      throw new Error('A listing of the workspace is not complete');
    const folders = new OpenFolders();
    let lines = 0;
    for (let start = 0; start < length; ) {
      const end = printed.indexOf(0, start);
      const line = printed.toString('utf8', start, end);
      start = end + 1;
      if (++lines % LINES_IN_A_TURN === 0) await setImmediate();
      const [code = '', inode = '', size = '', modified = '', changed = '', depth = ''] = line.split(' ', 6);
      const type = TYPES[code];
      const facts = line.slice(0, [code, inode, size, modified, changed].join(' ').length);
      const name = line.slice(facts.length + depth.length + 2);
      const path = folders.pathOf(name, Number(depth));
      if (type === 'directory' || code === PASSED) folders.enter(path, Number(depth));
      if (code === CLOSED && path !== undefined) closed.add(path);
      if (code === PASSED || path === '') continue;
      const maker = path && makerIn(path);
      // The replacement character stands for bytes that are not UTF-8: no path can name them.
      if (type && path && maker === undefined && !path.includes('\ufffd'))
        sightings.set(path, { type, inode, size: Number(size), modified, facts });
      else addTo(hidden, maker ?? '', type === 'directory' ? 0 : Number(size));
    }
    return new Snapshot(sightings, hidden, closed);
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

  /**
   * What became of this by the time of `later`; of folders only that they came or went. Nothing is said of what lies in a
   * folder that one of the two could not list.
   */
  async changesTo(later: Snapshot): Promise<Difference[]> {
    let looked = 0;
    const gone = new Map<string, [string, Sighting]>();
    const deleted: Difference[] = [];
    for (const [path, sighting] of this.sightings) {
      if (++looked % LINES_IN_A_TURN === 0) await setImmediate();
      if (later.sightings.get(path)?.type === sighting.type || liesInAny(path, later.closed)) continue;
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
      if (liesInAny(path, this.closed)) continue;
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

/** The folders that find(1) is in: it names each before what lies in it. */
class OpenFolders {
  private readonly paths: (string | undefined)[] = [];

  /** '' is the root; undefined where the path is longer or deeper than any that can be asked for. */
  pathOf(name: string, depth: number): string | undefined {
    if (depth === 0) return '';
    const folder = depth > MAX_COMPONENTS ? undefined : this.paths[depth - 1];
    if (folder === undefined) return undefined;
    const path = joinPath(folder, name);
    return Buffer.byteLength(path) > MAX_PATH_BYTES ? undefined : path;
  }

  enter(path: string | undefined, depth: number): void {
    this.paths.length = depth;
    this.paths.push(path);
  }
}

/** Hands what find(1) prints to `consume`; throws `busy` unless find(1) went through the whole tree. */
async function listing<T>(
  root: string,
  changedAfter: number | undefined,
  consume: (printed: Readable) => Promise<T>,
): Promise<T> {
  const child = spawn('find', argumentsFor(root, changedAfter), {
    env: PLAIN,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [[code, signal], complaint, consumed] = await Promise.all([
    once(child, 'close'),
    seriousComplaint(child.stderr),
    consume(child.stdout),
  ]);
  if (code === 0) return consumed;
  // A workspace that was deleted meanwhile is no fault.
  await stat(root).catch(error => {
    throw asWorkspaceError(error, '');
  });
  if (code === 1 && complaint === undefined) return consumed;
  const cause = new Error(`find ended with ${code ?? signal}: ${complaint}`);
  throw new WorkspaceFsError('busy', '', 'The workspace could not be listed; try again', { cause });
}

/**
 * What find(1) says of a file that vanished while it looked, and of a folder that its owner lets nobody list. Where it does
 * not begin with a name, it has lost its way, and has left out all that came behind.
 */
const HARMLESS = /^find: '.*': (?:No such file or directory|Not a directory|Permission denied)$/;

/** The first complaint of find(1) that means more; it prints one line each, with names escaped. */
async function seriousComplaint(complaints: Readable): Promise<string | undefined> {
  let serious: string | undefined;
  for await (const line of createInterface(complaints)) if (!HARMLESS.test(line)) serious ??= line;
  return serious;
}

function argumentsFor(root: string, changedAfter?: number): string[] {
  const recent = ['-newerct', `@${((changedAfter ?? 0) / 1000).toFixed(3)}`];
  const passed = ['-type', 'd', '!', ...recent, '-printf', `${PASSED} ${FACTS}`, '-o', ...recent];
  const since = changedAfter === undefined ? [] : passed;
  const last = ['-path', LAST, '-printf', `${END}\\0`];
  const closed = ['-type', 'd', '!', '(', '-readable', '-executable', ')', '-printf', `${CLOSED} ${FACTS}`];
  return [root, LAST, '-xdev', ...last, '-o', ...closed, '-o', ...since, '-printf', `%y ${FACTS}`];
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

/** Whether it lies in one of these folders. */
function liesInAny(path: string, folders: ReadonlySet<string>): boolean {
  if (folders.size === 0) return false;
  for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1))
    if (folders.has(path.slice(0, end))) return true;
  return folders.has('');
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
