import type { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import type { WorkspaceFs } from '#libs/workspace-fs/index.js';
import { ConcurrencyLimit } from '../../platform/concurrency/index.js';
import { type LeftOut, zipFolder } from './zip-folder.js';

/** Folders that are packed at once in this process, for one workspace, and for the visitors of one share of it. */
const MAX_IN_PROCESS = 64;
const MAX_OF_WORKSPACE = 8;
const MAX_OF_LINK = 4;

/** A folder to be packed. */
export interface FolderToZip {
  readonly workspaceId: string;
  /** The share by which visitors see it: they take no places from the members of the workspace. */
  readonly linkId?: string;
  readonly files: WorkspaceFs;
  readonly path: string;
  readonly isLeftOut?: LeftOut;
  /** Aborted when nobody waits for it any more. */
  readonly signal: AbortSignal;
}

/** Packs folders for those who download them, so many at once; the others wait for a while, and are refused (429) then. */
@Injectable()
export class FolderZips {
  private readonly inProcess = new ConcurrencyLimit(MAX_IN_PROCESS, 'folders are downloaded');
  private readonly ofMembers = new ConcurrencyLimit(
    MAX_OF_WORKSPACE,
    'folders of this workspace are downloaded',
  );
  private readonly ofVisitors = new ConcurrencyLimit(MAX_OF_WORKSPACE, 'shared folders are downloaded');
  private readonly ofLink = new ConcurrencyLimit(MAX_OF_LINK, 'folders of this link are downloaded');

  /** Rejects where there is no such folder. Its place is free again when the stream is closed. */
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

  /** The places that it takes, the narrowest first: one that waits holds up only those of its own link or workspace. */
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
