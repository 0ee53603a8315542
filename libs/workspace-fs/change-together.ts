import { type BigIntStats } from 'node:fs';
import { type Destination, refuseUnlessFile } from './destination.js';
import type { Directory } from './directory.js';
import { Draft, type Plan } from './draft.js';
import { type Entry, etagOf, toEntry } from './entry.js';
import { isWorkspaceError, WorkspaceFsError } from './errors.js';
import { newTemporaryName } from './path.js';
import { quotePath } from './quote-path.js';
import { StagedFile } from './staged-file.js';
import { refuseRoot, type Tree } from './tree.js';

/** Each of them holds two descriptors until all are in their places. */
const MAX_FILES = 200;
const NEW_FILE_MODE = 0o644n;

/** What has become of one file, or is about to. */
export interface FileChange {
  readonly path: string;
  readonly before: Entry | null;
  /** null: it is gone. */
  readonly after: Entry | null;
}

export interface TogetherOptions {
  /** Awaited when all is ready and nothing can be seen yet; if it fails, nothing is changed. */
  beforePlacing?: (changes: readonly FileChange[]) => Promise<void>;
  /** Runs the change, once it is known what room it takes: by how many bytes the files grow, and which are new; may refuse. */
  around?: <T>(room: { growth: number; created: readonly string[] }, change: () => Promise<T>) => Promise<T>;
}

/**
 * Changes several text files: all of them, or none. `plan` says what becomes of those at `paths`; meanwhile nothing else in
 * this process writes to them, and what another process writes makes it fail. All is written beside the files first; then
 * each is put in its place, and back where one of them cannot be. Only a process that dies in that moment leaves a part.
 */
export async function changeTogether<T>(
  tree: Tree,
  paths: readonly string[],
  plan: (draft: Draft) => Promise<T>,
  { beforePlacing = async () => undefined, around = (_room, change) => change() }: TogetherOptions = {},
): Promise<{ result: T; changes: FileChange[] }> {
  const all = [...new Set(paths)].sort();
  if (all.length > MAX_FILES)
    throw new WorkspaceFsError(
      'too_large',
      '',
      `${all.length} files cannot change together; at most ${MAX_FILES} can`,
    );
  for (const path of all) refuseRoot(path);
  return aloneWithAll(tree, all, async () => {
    const draft = new Draft(tree, new Set(all));
    const result = await plan(draft);
    const plans = draft.plans();
    if (plans.length === 0) return { result, changes: [] };
    const created = plans.flatMap(({ path, before }) => (before ? [] : [path]));
    const changes = await around({ growth: growthOf(plans), created }, async () => {
      tree.options.beforeChange?.();
      return staged(tree, plans, [], files => placeAll(files, beforePlacing));
    });
    return { result, changes };
  });
}

/** Always in the same order, so that two who want the same files do not wait for each other. */
function aloneWithAll<T>(tree: Tree, paths: readonly string[], work: () => Promise<T>, at = 0): Promise<T> {
  const path = paths[at];
  if (path === undefined) return work();
  return tree.alone(path, () => aloneWithAll(tree, paths, work, at + 1));
}

const growthOf = (plans: readonly Plan[]): number =>
  plans.reduce((sum, { before, after }) => sum + Buffer.byteLength(after ?? '') - (before?.size ?? 0), 0);

/** Runs work with everything written that is to come, under hidden names. */
function staged<T>(
  tree: Tree,
  plans: readonly Plan[],
  ready: readonly ReadyChange[],
  work: (changes: readonly ReadyChange[]) => Promise<T>,
): Promise<T> {
  const plan = plans[ready.length];
  if (!plan) return work(ready);
  const next = (change: ReadyChange) => staged(tree, plans, [...ready, change], work);
  const { path, after } = plan;
  if (after === null)
    return tree.inParent(path, (folder, name) =>
      next(new ReadyChange(plan, { name, folder: async () => folder })),
    );
  return tree.toDestination(path, async destination => {
    const current = await destination.current();
    requireSame(current, plan);
    const { maxFileBytes, owner } = tree.options;
    return StagedFile.use(destination, maxFileBytes, async file => {
      await file.file.append(Buffer.from(after));
      await file.file.finish(owner, current?.mode ?? plan.mode ?? NEW_FILE_MODE);
      return next(new ReadyChange(plan, destination, file));
    });
  });
}

async function placeAll(
  files: readonly ReadyChange[],
  beforePlacing: NonNullable<TogetherOptions['beforePlacing']>,
): Promise<FileChange[]> {
  const changes = files.map(file => file.change);
  await beforePlacing(changes);
  const placed: ReadyChange[] = [];
  try {
    for (const file of files) {
      await file.place();
      placed.push(file);
    }
  } catch (error) {
    for (const file of placed.reverse()) await file.undo();
    throw error;
  }
  for (const file of files) await file.finish();
  return changes;
}

function requireSame(current: BigIntStats | null, { path, before }: Plan): void {
  if (current) refuseUnlessFile(current, path);
  if ((current ? etagOf(current) : null) === (before?.etag ?? null)) return;
  const message = `${quotePath(path)} changed while it was being changed, so nothing was written; read it and try again`;
  throw new WorkspaceFsError('precondition_failed', path, message);
}

/** One change that is ready to be made, and how to take it back. */
class ReadyChange {
  /** The name under which what was there is kept until all are in their places. */
  private readonly kept = newTemporaryName();
  private isKept = false;
  private folder: Directory | undefined;
  private after: BigIntStats | null = null;

  constructor(
    private readonly plan: Plan,
    private readonly target: Pick<Destination, 'name' | 'folder'>,
    private readonly file?: StagedFile,
  ) {}

  get change(): FileChange {
    const { path, before } = this.plan;
    return { path, before, after: this.file ? toEntry(path, this.file.file.stats()) : null };
  }

  async place(): Promise<void> {
    const folder = await this.target.folder();
    this.folder = folder;
    const { name } = this.target;
    const current = await folder.find(name);
    requireSame(current, this.plan);
    if (current) await this.keep(folder, name);
    if (!this.file) return;
    try {
      this.after = await this.file.placeIn(folder, current !== null);
    } catch (error) {
      await this.dropKept(folder);
      throw error;
    }
  }

  /** A file that goes is only renamed for now; one that is replaced has a second name. */
  private async keep(folder: Directory, name: string): Promise<void> {
    if (!this.file) await folder.rename(name, folder, this.kept);
    else {
      try {
        await folder.link(name, folder, this.kept);
      } catch (error) {
        // No hard links here: what was there cannot be put back.
        if (isWorkspaceError(error, 'denied')) return;
        throw error;
      }
    }
    this.isKept = true;
  }

  /** Puts back what was there, unless someone else has changed it since. */
  async undo(): Promise<void> {
    const { folder } = this;
    if (!folder) return;
    const { name } = this.target;
    const current = await folder.find(name);
    const isOurs = (current ? etagOf(current) : null) === (this.after ? etagOf(this.after) : null);
    if (isOurs && this.isKept) await folder.rename(this.kept, folder, name);
    else if (isOurs && this.after && this.plan.before === null) await folder.unlink(name);
    else await this.dropKept(folder);
    await folder.sync();
  }

  async finish(): Promise<void> {
    const { folder } = this;
    if (!folder) return;
    await this.dropKept(folder);
    await folder.sync();
  }

  private async dropKept(folder: Directory): Promise<void> {
    if (!this.isKept) return;
    this.isKept = false;
    await folder.unlink(this.kept);
  }
}
