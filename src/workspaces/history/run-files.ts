import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { GitStore, type RepositoryOf } from './git-store.js';
import type { FileChangeView, FileStateView } from './history.dto.js';
import { HistoryCapture } from './history-capture.js';
import { type RunFile, VersionReadsStore } from './version-reads.store.js';

/** A file as runs left it, against what it was before them. */
export interface ComparedFile {
  readonly path: string;
  readonly kind: 'created' | 'modified' | 'deleted';
  /** Unified; null where a content is not kept, or there was no room for it. */
  readonly diff: string | null;
}

/** What runs changed, together. */
export interface Comparison {
  readonly files: readonly ComparedFile[];
  /** There are more files than are listed. */
  readonly isCut: boolean;
  /** The same as long as the files that they changed are. */
  readonly digest: string;
}

/** Most of a comparison: files, files with their diff, and bytes of all diffs. */
interface ComparisonLimits {
  readonly files: number;
  readonly diffs: number;
  readonly bytes: number;
}

@Injectable()
export class RunFiles {
  constructor(
    private readonly versions: VersionReadsStore,
    private readonly capture: HistoryCapture,
    private readonly git: GitStore,
  ) {}

  /** By path, at most `limit`, with the state before and after. */
  async changed(workspaceId: string, runIds: readonly string[], limit: number): Promise<FileChangeView[]> {
    if ((await this.git.fault()) !== null) return this.logged(workspaceId, runIds, limit);
    await this.capture.upToDate(workspaceId);
    const files = await this.versions.ofRuns(workspaceId, runIds, limit);
    return files.flatMap(({ path, replaced, before, after }) => {
      const isGone = after.unkept === 'deleted';
      if (!replaced && isGone) return [];
      const kind = isGone ? 'deleted' : replaced ? 'modified' : 'created';
      return { path, kind, before: replaced ? stateOf(before) : null, after: isGone ? null : stateOf(after) };
    });
  }

  /** What runs made of the files, with diffs as far as there is room; without a history, the files alone. */
  async compared(
    workspace: RepositoryOf,
    runIds: readonly string[],
    limits: ComparisonLimits,
  ): Promise<Comparison> {
    if ((await this.git.fault()) !== null) {
      const logged = await this.logged(workspace.id, runIds, limits.files + 1);
      const files = logged.map(({ path, kind }) => ({
        path,
        kind: kind as ComparedFile['kind'],
        diff: null,
      }));
      return comparison(
        files,
        logged.map(({ path, after }) => [path, after?.etag ?? null]),
        limits,
      );
    }
    await this.capture.upToDate(workspace.id);
    const found = (await this.versions.ofRuns(workspace.id, runIds, limits.files + 1)).filter(isChanged);
    const files: ComparedFile[] = [];
    let bytes = limits.bytes;
    for (const file of found) {
      const { path, replaced, after } = file;
      const kind = after.unkept === 'deleted' ? 'deleted' : replaced ? 'modified' : 'created';
      const diff = files.length < limits.diffs && bytes > 0 ? await this.diff(workspace, file) : null;
      const fits = diff !== null && Buffer.byteLength(diff) <= bytes;
      files.push({ path, kind, diff: fits ? diff : null });
      if (fits) bytes -= Buffer.byteLength(diff);
    }
    return comparison(
      files,
      found.map(({ path, after }) => [path, after.blob ?? after.etag]),
      limits,
    );
  }

  private async diff(
    workspace: RepositoryOf,
    { path, replaced, before, after }: RunFile,
  ): Promise<string | null> {
    const isGone = after.unkept === 'deleted';
    if ((replaced && !before?.blob) || (!isGone && !after.blob)) return null;
    const side = (blob: string | null | undefined) => (blob ? { path, blob } : null);
    const found = await this.git
      .of(workspace)
      .diff(side(replaced ? before?.blob : null), side(isGone ? null : after.blob));
    return typeof found === 'string' ? null : found.diff;
  }

  /** Where there is no history there is still the log, which knows no before. */
  private async logged(
    workspaceId: string,
    runIds: readonly string[],
    limit: number,
  ): Promise<FileChangeView[]> {
    const rows = await this.versions.loggedOfRuns(workspaceId, runIds, limit);
    return rows.map(({ path, kind, size, etag }) => ({
      path,
      kind: kind === 'moved' ? 'created' : kind,
      before: null,
      after: kind === 'deleted' ? null : { version: null, size, etag, kept: false },
    }));
  }
}

function comparison(
  files: readonly ComparedFile[],
  contents: readonly (readonly [string, string | null])[],
  { files: most }: ComparisonLimits,
): Comparison {
  const digest = hash('sha256', JSON.stringify(contents));
  return { files: files.slice(0, most), isCut: files.length > most, digest };
}

/** Whether it is another than before, or was not there. */
function isChanged({ replaced, before, after }: RunFile): boolean {
  if (!replaced) return after.unkept !== 'deleted';
  return before?.blob == null || before.blob !== after.blob;
}

function stateOf(version: RunFile['before']): FileStateView {
  if (!version) return { version: null, size: null, etag: null, kept: false };
  const { id, size, etag, unkept } = version;
  return { version: id, size, etag, kept: unkept === null };
}
