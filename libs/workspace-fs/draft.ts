import { isUtf8 } from 'node:buffer';
import type { Entry } from './entry.js';
import { isWorkspaceError, WorkspaceFsError } from './errors.js';
import { tooLarge } from './new-file.js';
import { quotePath } from './quote-path.js';
import { reading } from './read.js';
import { type Tree } from './tree.js';

/** Of a file that is changed as text. */
export const MAX_EDITED_BYTES = 16 * 1024 * 1024;
/** Of all files that are changed together, as they were and as they become: they are held in memory. */
const MAX_TOGETHER = 64 * 1024 * 1024;

/** What is to become of one file. */
export interface Plan {
  readonly path: string;
  /** As it is now; null where nothing is there. */
  readonly before: Entry | null;
  /** null: it goes. */
  readonly after: string | null;
  /** The permissions of a new file; those of the file that it was before it got this path. */
  readonly mode?: bigint;
}

interface Known {
  readonly before: Entry | null;
  readonly mode?: bigint;
  readonly original: string | null;
  text: string | null;
  newMode?: bigint;
}

/** Files that are to change together, as they will be: nothing of it is on disk yet. */
export class Draft {
  private readonly known = new Map<string, Known>();
  private bytes = 0;

  constructor(
    private readonly tree: Tree,
    private readonly paths: ReadonlySet<string>,
  ) {}

  /** The text of a file as it will be; throws where there is none. */
  async read(path: string): Promise<string> {
    const { text } = await this.at(path);
    if (text === null) throw new WorkspaceFsError('not_found', path);
    return text;
  }

  async has(path: string): Promise<boolean> {
    return (await this.at(path)).text !== null;
  }

  /** The file as it is on disk; null where there is none. */
  async before(path: string): Promise<Entry | null> {
    return (await this.at(path)).before;
  }

  /** `from`: the file whose permissions it takes over. */
  async write(path: string, text: string, from?: string): Promise<void> {
    const size = Buffer.byteLength(text);
    const limit = Math.min(MAX_EDITED_BYTES, this.tree.options.maxFileBytes);
    if (size > limit) {
      const message = `${quotePath(path)} would have ${size} bytes; a file that is edited may have ${limit}`;
      throw new WorkspaceFsError('too_large', path, message);
    }
    this.count(size, path);
    const known = await this.at(path);
    known.text = text;
    if (from !== undefined) known.newMode = (await this.at(from)).mode;
  }

  async remove(path: string): Promise<void> {
    await this.read(path);
    (await this.at(path)).text = null;
  }

  /** What differs from what is on disk. */
  plans(): Plan[] {
    return [...this.known].flatMap(([path, { before, original, text: after, newMode }]) =>
      after === original ? [] : [{ path, before, after, mode: newMode }],
    );
  }

  private async at(path: string): Promise<Known> {
    if (!this.paths.has(path)) throw new Error(`${path} is not among the files that change`);
    const known = this.known.get(path) ?? (await this.load(path));
    this.known.set(path, known);
    return known;
  }

  private async load(path: string): Promise<Known> {
    const limit = Math.min(MAX_EDITED_BYTES, this.tree.options.maxFileBytes);
    try {
      return await reading(this.tree, path, async file => {
        if (file.entry.size > limit) throw tooLarge(path, limit);
        this.count(file.entry.size, path);
        const bytes = await file.bytes();
        if (!isUtf8(bytes)) throw new WorkspaceFsError('not_text', path);
        const text = bytes.toString('utf8');
        return { before: file.entry, mode: file.mode, original: text, text };
      });
    } catch (error) {
      if (isWorkspaceError(error, 'not_found')) return { before: null, original: null, text: null };
      throw error;
    }
  }

  private count(bytes: number, path: string): void {
    this.bytes += bytes;
    if (this.bytes > MAX_TOGETHER)
      throw new WorkspaceFsError(
        'too_large',
        path,
        `The files that change together have more than ${MAX_TOGETHER} bytes; change them one after the other`,
      );
  }
}
