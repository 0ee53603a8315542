import { Injectable } from '@nestjs/common';
import { applyHunks, type FilePatch, HunkMismatch, PatchError, parsePatch } from '#libs/file-patch/index.js';
import {
  type Draft,
  editText,
  excerptOf,
  type FileChange,
  nearest,
  numbered,
  parentOf,
  quotePath,
  type WorkspaceFs,
  WorkspaceFsError,
  workspacePath,
} from '#libs/workspace-fs/index.js';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { Conflict, Invalid, translateErrors } from '../../platform/errors/index.js';
import {
  type Change,
  changeOf,
  manifestOf,
  RecordedWrites,
  WorkspaceQuota,
  writerFor,
} from '../changes/index.js';
import { WorkspaceFolders, WorkspacesStore } from '../core/index.js';
import { type KnownFiles, requireUnchanged } from './known-files.js';
import { teaching } from './near-paths.js';
import {
  ChangedFilesView,
  type ChangedFileView,
  EditFiles,
  PatchFiles,
  togetherTexts,
} from './together.dto.js';

translateErrors(PatchError, ({ message }) => new Invalid(message));

/** Of the changes of one file, in an excerpt. */
const MAX_SHOWN_CHANGES = 5;
const MAX_SHOWN_LINES = 30;

/** What is to be told about a file beside what became of it. */
type Told = Partial<Pick<ChangedFileView, 'from' | 'excerpt' | 'notes'>>;

/** Changes several files together: all of them, or none. */
@Injectable()
export class FilesTogetherService {
  constructor(
    private readonly workspaces: WorkspacesStore,
    private readonly folders: WorkspaceFolders,
    private readonly quota: WorkspaceQuota,
    private readonly writes: RecordedWrites,
  ) {}

  @Action('file_batch_edit', 'POST /api/workspaces/:workspaceId/files/edits', {
    summary: 'Make several edits in one file or several: all of them, or none',
    effect: 'write',
    permission: 'file.write',
    input: EditFiles,
    output: ChangedFilesView,
    tool: {
      name: 'multi_edit',
      title: 'Make several edits',
      description:
        'Make several edits of the kind of edit_file in one file or several: all of them, or none. Each edit sees what those before it left.',
      agents: {
        ...togetherTexts,
        brief: 'Several edits, in one file or many: all or none.',
        told: {
          edits: '',
          'edits.path': '',
          'edits.old_text': '',
          'edits.new_text': '',
          'edits.replace_all': '',
        },
      },
    },
    evidence: 'read the paths, or their history',
    refuses: {
      404: 'No such workspace or path',
      409: 'The text of an edit does not occur, or occurs more than once',
      412: 'A file changed meanwhile',
      413: 'Over the size limit',
    },
  })
  async edit(actor: Actor, { workspace_id, path, edits }: EditFiles): Promise<ChangedFilesView> {
    const files = await this.open(actor, workspace_id);
    const planned = edits.map((edit, index) => {
      const own = edit.path ?? path;
      if (own === undefined) throw new Invalid(`edits.${index}.path is required, as the request has no path`);
      return { ...edit, path: workspacePath(own) };
    });
    const paths = planned.map(edit => edit.path);
    return this.together(actor, { workspace_id, files, paths }, async draft => {
      const told = new Map<string, Told>();
      for (const [index, edit] of planned.entries()) {
        const { path } = edit;
        const before = await inEdit(index, edits.length, () => draft.read(path));
        const { text, excerpt, at, line } = await inEdit(index, edits.length, () =>
          editText(path, before, edit),
        );
        await requireDrafted(actor.call?.known, workspace_id, draft, path, () =>
          excerptOf(before, at, at + edit.old_text.length, line),
        );
        await draft.write(path, text);
        const shown = told.get(path)?.excerpt;
        told.set(path, { excerpt: shown === undefined ? excerpt : `${shown}\n…\n${excerpt}` });
      }
      return told;
    });
  }

  @Action('file_patch', 'POST /api/workspaces/:workspaceId/files/patch', {
    summary: 'Apply a patch to files: all of it, or none',
    description:
      'Takes the format of apply_patch (`*** Begin Patch`, `*** Add File: path`, `*** Update File: path`, `*** Move to: path`, `*** Delete File: path`, `@@ line before the change`, `*** End Patch`) and unified diffs. Lines are also found where white space, quotes or dashes differ.',
    effect: 'write',
    permission: 'file.write',
    input: PatchFiles,
    output: ChangedFilesView,
    tool: {
      name: 'apply_patch',
      title: 'Apply a patch',
      description:
        'Apply a patch to files of a workspace: all of it, or none. Either a unified diff, or *** Begin Patch, then for each file *** Add File: path with its lines after +, ' +
        '*** Delete File: path, or *** Update File: path (*** Move to: path) with hunks: @@ and a line that comes before, some lines of context after a space, what goes after -, what comes after +; then *** End Patch.',
      agents: {
        ...togetherTexts,
        brief:
          'Change files by a patch, all or none: a unified diff, or *** Begin Patch, *** Add File: path / *** Update File: path (*** Move to: path) / *** Delete File: path, @@ hunks, *** End Patch.',
        told: { patch: '' },
      },
    },
    evidence: 'read the paths, or their history',
    refuses: {
      404: 'No such workspace or path',
      409: 'A hunk does not fit, or something is where a file is to be',
      412: 'A file changed meanwhile',
      413: 'Over the size limit',
    },
  })
  async patch(actor: Actor, { workspace_id, patch }: PatchFiles): Promise<ChangedFilesView> {
    const files = await this.open(actor, workspace_id);
    const patches = parsePatch(patch).map(one => {
      const path = workspacePath(one.path);
      return one.kind === 'update' && one.to !== undefined
        ? { ...one, path, to: workspacePath(one.to) }
        : { ...one, path };
    });
    const paths = patches.flatMap(one => (one.kind === 'update' && one.to ? [one.path, one.to] : [one.path]));
    return this.together(actor, { workspace_id, files, paths }, async draft => {
      const told = new Map<string, Told>();
      for (const one of patches) await applyOne(actor.call?.known, workspace_id, draft, one, told);
      return told;
    });
  }

  private async open(actor: Actor, workspaceId: string): Promise<WorkspaceFs> {
    return this.folders.open(await this.workspaces.require(actor, 'file.write', workspaceId));
  }

  private async together(
    actor: Actor,
    {
      workspace_id: workspaceId,
      files,
      paths,
    }: { workspace_id: string; files: WorkspaceFs; paths: readonly string[] },
    plan: (draft: Draft) => Promise<Map<string, Told>>,
  ): Promise<ChangedFilesView> {
    const change = () =>
      this.writes.run(workspaceId, writerFor(actor), async ({ begin }) => {
        const { result: told, changes } = await files.changeTogether(paths, plan, {
          beforePlacing: ready => begin(ready.map(targetOf)),
          around: async ({ growth, created }, change) => {
            const room = { bytes: Math.max(0, growth), files: await missingAt(files, created) };
            return this.quota.during(workspaceId, room, change);
          },
        });
        for (const { path, after } of changes)
          if (after?.etag) actor.call?.known?.learned({ path, etag: after.etag });
        return { result: { files: viewsOf(changes, told) }, changes: changes.map(logged) };
      });
    return teaching(files, change);
  }
}

/** A refusal says which edit it is about. */
async function inEdit<T>(index: number, count: number, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof WorkspaceFsError) || count === 1) throw error;
    const message = `Edit ${index + 1} of ${count}: ${error.message}; none of them was made`;
    throw new WorkspaceFsError(error.code, error.path, message, { cause: error });
  }
}

async function applyOne(
  known: KnownFiles | undefined,
  workspaceId: string,
  draft: Draft,
  patch: FilePatch,
  told: Map<string, Told>,
): Promise<void> {
  const { path, kind } = patch;
  if (kind === 'add') {
    if (await draft.has(path))
      throw new Conflict(
        `Add File ${quotePath(path)} (line ${patch.line} of the patch): it exists already; use Update File`,
      );
    return draft.write(path, patch.text);
  }
  const before = await draft.read(path);
  if (kind === 'delete') {
    await requireDrafted(known, workspaceId, draft, path, () => linesFrom(before, 1));
    return draft.remove(path);
  }
  const { text, changes, inexact } = await hunksApplied(before, patch);
  await requireDrafted(known, workspaceId, draft, path, () => linesFrom(before, changes[0]?.line ?? 1));
  const notes = inexact.map(({ hunk, but }) => `Hunk ${hunk} was found where the lines differ in ${but}`);
  const shown = changes.slice(0, MAX_SHOWN_CHANGES).map(({ line, lines }) => numbered(lines, line));
  const excerpt = [
    ...shown,
    ...(changes.length > shown.length ? [`… ${changes.length - shown.length} more changes`] : []),
  ].join('\n…\n');
  const { to } = patch;
  if (to === undefined || to === path) {
    told.set(path, { excerpt, notes });
    return draft.write(path, text);
  }
  if (await draft.has(to))
    throw new Conflict(
      `Move to ${quotePath(to)} (line ${patch.line} of the patch): something is there already`,
    );
  told.set(to, { from: path, excerpt, notes });
  await draft.write(to, text, path);
  await draft.remove(path);
}

async function hunksApplied(text: string, { path, hunks }: Extract<FilePatch, { kind: 'update' }>) {
  try {
    return await applyHunks(text, hunks);
  } catch (error) {
    if (error instanceof PatchError) throw new Invalid(`${quotePath(path)}: ${error.message}`);
    if (!(error instanceof HunkMismatch)) throw error;
    const { hunk, wanted, message } = error;
    const where = `Hunk ${hunk.number} of Update File ${quotePath(path)} (line ${hunk.line} of the patch) does not fit: ${message}`;
    const hint = wanted === '' ? undefined : await nearest(text, wanted);
    throw new Conflict(`${where}; nothing was changed${hint ? `; ${hint}` : ''}`);
  }
}

/** Of a file that was not drafted by an earlier part of the same change. */
async function requireDrafted(
  known: KnownFiles | undefined,
  workspaceId: string,
  draft: Draft,
  path: string,
  shown: () => string,
): Promise<void> {
  const { etag } = (await draft.before(path)) ?? {};
  if (etag) await requireUnchanged(known, workspaceId, { path, etag }, shown);
}

/** Lines of a text as it is now, for who did not see it. */
const linesFrom = (text: string, line: number): string =>
  numbered(text.split('\n', line + MAX_SHOWN_LINES).slice(line - 1), line);

function targetOf({ path, before, after }: FileChange) {
  return { path, etag: after?.etag ?? undefined, before: manifestOf(before ? [before] : []) };
}

function logged({ path, before, after }: FileChange): Change {
  return after ? changeOf(after, before === null) : { path, kind: 'deleted' };
}

function viewsOf(changes: readonly FileChange[], told: ReadonlyMap<string, Told>): ChangedFileView[] {
  const moved = new Set([...told.values()].map(({ from }) => from));
  return changes.flatMap(({ path, before, after }) => {
    const { from = null, excerpt = '', notes = [] } = told.get(path) ?? {};
    if (!after && moved.has(path)) return [];
    const kind = after ? (from === null ? (before ? 'modified' : 'created') : 'moved') : 'deleted';
    return [{ path, kind, from, size: after?.size ?? null, etag: after?.etag ?? null, excerpt, notes }];
  });
}

/** How many files and folders come into being where these are written. */
async function missingAt(files: WorkspaceFs, paths: readonly string[]): Promise<number> {
  const missing = new Set<string>();
  for (const path of paths)
    for (let at = path; at !== '' && !missing.has(at) && !(await files.find(at)); at = parentOf(at))
      missing.add(at);
  return missing.size;
}
