import type { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { ConcurrencyLimit } from '#libs/concurrency-limit/index.js';
import { isNoFile, type OpenFile, type WorkspaceFs } from '#libs/workspace-fs/index.js';
import { type LeftOut, zipTree } from '#libs/zip-writer/index.js';

/** Folders packed at once: in this process, for one workspace, for the visitors of one share. */
const MAX_IN_PROCESS = 64;
const MAX_OF_WORKSPACE = 8;
const MAX_OF_LINK = 4;

export interface FolderToZip {
  readonly workspaceId: string;
  /** The share by which visitors see it: they use no slots of members. */
  readonly linkId?: string;
  readonly files: WorkspaceFs;
  readonly path: string;
  readonly isLeftOut?: LeftOut;
  readonly signal: AbortSignal;
}

export interface ZippedFolder {
  readonly name: string;
  zip(signal: AbortSignal): Promise<Readable>;
}

/** Packs folders for download; so many at once: others wait for a while, then get 429. */
@Injectable()
export class FolderZips {
  private readonly inProcess = new ConcurrencyLimit(MAX_IN_PROCESS, 'folders are downloaded');
  private readonly ofMembers = new ConcurrencyLimit(
    MAX_OF_WORKSPACE,
    'folders of this workspace are downloaded',
  );
  private readonly ofVisitors = new ConcurrencyLimit(MAX_OF_WORKSPACE, 'shared folders are downloaded');
  private readonly ofLink = new ConcurrencyLimit(MAX_OF_LINK, 'folders of this link are downloaded');

  /** Rejects where there is no such folder. The slot is released when the stream is closed. */
  async open(folder: FolderToZip): Promise<Readable> {
    const { files, path, isLeftOut, signal } = folder;
    const leave = await this.enter(folder);
    try {
      signal.throwIfAborted();
      const zip = (await zipFolder(files, path, isLeftOut)).once('close', leave);
      if (signal.aborted) zip.destroy();
      return zip;
    } catch (error) {
      leave();
      throw error;
    }
  }

  /** Acquires the narrowest slot first: one that waits holds up only its own link or workspace. */
  private async enter({ workspaceId, linkId, signal }: FolderToZip): Promise<() => void> {
    const held: (() => void)[] = [];
    const leave = () => {
      for (const release of held) release();
    };
    try {
      if (linkId !== undefined) held.push(await this.ofLink.acquire({ key: linkId, signal }));
      const ofWorkspace = linkId === undefined ? this.ofMembers : this.ofVisitors;
      held.push(await ofWorkspace.acquire({ key: workspaceId, signal }));
      held.push(await this.inProcess.acquire({ signal }));
      return leave;
    } catch (error) {
      leave();
      throw error;
    }
  }
}

/** A folder of a workspace as a zip; see {@link zipTree}. Rejects where there is no such folder. */
export function zipFolder(files: WorkspaceFs, folder: string, isLeftOut?: LeftOut): Promise<Readable> {
  const list = (at: string, after?: string) => files.list(at, { recursive: true, after });
  return zipTree({ list, open: path => openIfThere(files, path) }, folder, isLeftOut);
}

async function openIfThere(files: WorkspaceFs, path: string): Promise<OpenFile | undefined> {
  try {
    return await files.openRead(path);
  } catch (error) {
    if (isNoFile(error)) return undefined;
    throw error;
  }
}
