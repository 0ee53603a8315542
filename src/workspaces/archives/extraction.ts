import { type ArchiveEntry, entriesOf, type Meter, refuseIfTooMany } from '#libs/archive-reader/index.js';
import {
  normalizePath,
  type OpenFile,
  parentOf,
  quotePath,
  type WorkspaceFs,
  WorkspaceFsError,
} from '#libs/workspace-fs/index.js';
import { Conflict, Invalid, TooLarge } from '../../platform/errors/index.js';
import type { Change } from '../changes/index.js';

/** An archive that unpacks to more than this many times its size is a bomb … */
const MAX_RATIO = 200;
/** … where it comes to more than this. */
const HARMLESS_BYTES = 10 * 1024 * 1024;
const MAX_SKIPPED = 1000;
/** An absolute path, one with a drive letter, or one with `..` in it. */
const LEADS_OUTSIDE = /^(?:[a-z]:)?\/|(?:^|\/)\.\.(?:\/|$)/i;

export interface Plan {
  entries: number;
  files: number;
  folders: number;
  bytes: number;
  /** Already there with the same content, as after an extraction that was cut short. */
  unchanged: number;
  skipped: string[];
}

/** Unpacks one archive into a folder: first looks through all of it, then writes, so that what is refused leaves nothing. */
export class Extraction {
  readonly changes: Change[] = [];
  private readonly unchanged = new Set<string>();

  constructor(
    private readonly files: WorkspaceFs,
    private readonly archive: OpenFile,
    private readonly folder: string,
    private readonly maxFileBytes: number,
  ) {}

  /** What there is to do, in this much room; throws for paths that lead outside, for bombs, and for what is in the way. */
  async plan(room: { bytes: number; files: number }): Promise<Plan> {
    const plan: Plan = { entries: 0, files: 0, folders: 0, bytes: 0, unchanged: 0, skipped: [] };
    const folders = new Set<string>();
    const paths = new Set<string>();
    for await (const entry of entriesOf(this.archive, this.meter(room.bytes))) {
      const path = this.pathOf(entry);
      if (entry.type !== 'other') addFolders(folders, entry.type === 'file' ? parentOf(path) : path);
      plan.entries++;
      refuseIfTooMany(folders.size);
      if (entry.type === 'other' && plan.skipped.length < MAX_SKIPPED) plan.skipped.push(entry.name);
      if (entry.type !== 'file') continue;
      if (paths.has(path)) throw new Invalid(`The archive holds ${quotePath(path)} twice`);
      paths.add(path);
      if (entry.size > this.maxFileBytes)
        throw new TooLarge(
          `${quotePath(entry.name)} has ${entry.size} bytes; a file may have ${this.maxFileBytes} here`,
        );
      if (await this.isUnchanged(path, entry)) {
        this.unchanged.add(path);
        plan.unchanged++;
        continue;
      }
      plan.files++;
      plan.bytes += entry.size;
    }
    if (plan.entries === 0) throw new Invalid('The file is no zip, tar or tar.gz archive, or an empty one');
    for (const folder of folders) if (await this.files.isFree(folder)) plan.folders++;
    return plan;
  }

  /**
   * Writes each file whole or not at all; `changes` has what was written also when it fails in the middle. Fails where the
   * archive holds more by now than was planned for: it lies where others write.
   */
  run(plan: Plan): Promise<void> {
    return this.files.writeNew(
      add => this.unpack(plan, add),
      ({ path, size, etag }) => this.changes.push({ path, kind: 'created', size, etag }),
    );
  }

  private async unpack(
    { entries, bytes }: Plan,
    add: (path: string, source: AsyncIterable<Uint8Array>) => Promise<void>,
  ): Promise<void> {
    const left = { entries, bytes };
    for await (const entry of entriesOf(this.archive, this.meter(bytes))) {
      const path = this.pathOf(entry);
      left.entries--;
      if (this.unchanged.has(path)) continue;
      if (entry.type === 'file') left.bytes -= entry.size;
      if (left.entries < 0 || left.bytes < 0) throw new WorkspaceFsError('busy', this.archive.entry.path);
      if (entry.type === 'directory' && path !== '') await this.files.mkdir(path);
      if (entry.type === 'file') await add(path, await entry.open());
    }
  }

  private meter(room: number): Meter {
    const most = Math.max(HARMLESS_BYTES, this.archive.entry.size * MAX_RATIO);
    let bytes = 0;
    return more => {
      bytes += more;
      if (bytes > most)
        throw new TooLarge(
          `The archive unpacks to more than ${most} bytes, ${MAX_RATIO} times its size or more`,
        );
      if (bytes > room + HARMLESS_BYTES)
        throw new TooLarge(
          `The archive unpacks to more than ${bytes} bytes; there is room for ${room} in the workspace`,
        );
    };
  }

  private pathOf({ name }: ArchiveEntry): string {
    if (LEADS_OUTSIDE.test(name))
      throw new Invalid(`The archive holds the path ${quotePath(name)}, which leads outside`);
    // As sites and forms have them: macOS writes names in decomposed form, which others cannot type.
    return normalizePath(`${this.folder}/${name.normalize('NFC')}`);
  }

  /** Throws where something else is in its place. */
  private async isUnchanged(path: string, entry: ArchiveEntry): Promise<boolean> {
    if (await this.files.isFree(path)) return false;
    if (await this.holdsSame(path, entry)) return true;
    throw new Conflict(
      `${quotePath(path)} is there already, and is not as in the archive; nothing was unpacked`,
    );
  }

  private async holdsSame(path: string, entry: ArchiveEntry): Promise<boolean> {
    try {
      await using there = await this.files.openRead(path);
      if (there.entry.size !== entry.size) return false;
      let at = 0;
      for await (const chunk of await entry.open()) {
        if (!(await there.readAt(at, chunk.byteLength)).equals(chunk)) return false;
        at += chunk.byteLength;
      }
      return at === there.entry.size;
    } catch (error) {
      if (error instanceof WorkspaceFsError) return false;
      throw error;
    }
  }
}

function addFolders(folders: Set<string>, path: string): void {
  for (let at = path; at !== '' && !folders.has(at); at = parentOf(at)) folders.add(at);
}
