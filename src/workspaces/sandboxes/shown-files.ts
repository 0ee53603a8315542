import { chown, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Injectable } from '@nestjs/common';
import { scratchFolder } from '#libs/sandbox/index.js';
import { Config } from '../../platform/config/index.js';
import type { SandboxCaller } from './running-sandboxes.store.js';

/** Files that a sandbox is shown besides those of its workspace, read-only. */
export interface FilesToShow {
  /** The folder that they are in, inside. */
  readonly to: string;
  /** By name. */
  readonly files: Readonly<Record<string, string | Buffer>>;
  /** Variables, given the folder as it is seen inside. */
  readonly env: (folder: string) => Record<string, string>;
}

/** What a caller's sandboxes are shown; undefined for nothing. */
export type FilesFor = (caller: SandboxCaller) => Promise<FilesToShow | undefined>;

/** Files on the host that one sandbox sees, until they are closed. */
export interface ShownFolder {
  readonly folder: string;
  readonly shown: FilesToShow;
  close(): Promise<void>;
}

/** Features that show files to the sandboxes of what they run register here while modules start. */
@Injectable()
export class ShownFiles {
  private readonly sources: FilesFor[] = [];

  constructor(private readonly config: Config) {}

  add(source: FilesFor): void {
    this.sources.push(source);
  }

  /** `owner`: the account that reads them, if it is not the service's own; `more`: what this sandbox is shown besides. */
  async open(
    caller: SandboxCaller,
    owner: { readonly uid: number; readonly gid: number } | undefined,
    more: FilesToShow | undefined,
  ): Promise<ShownFolder[]> {
    const all = await Promise.all(this.sources.map(source => source(caller)));
    const open: ShownFolder[] = [];
    try {
      for (const shown of [...all, more]) if (shown) open.push(await this.folderOf(shown, owner));
      return open;
    } catch (error) {
      await Promise.all(open.map(each => each.close()));
      throw error;
    }
  }

  private async folderOf(
    shown: FilesToShow,
    owner: { readonly uid: number; readonly gid: number } | undefined,
  ): Promise<ShownFolder> {
    const { scratchDir } = this.config;
    const folder = await scratchFolder(scratchDir, 'atelier-shown');
    const close = () => rm(folder, { recursive: true, force: true });
    try {
      for (const [name, content] of Object.entries(shown.files))
        await writeFile(path.join(folder, name), content, { mode: 0o644 });
      // Last: from here on only that account reaches what is inside.
      if (owner) await chown(folder, owner.uid, owner.gid);
      return { folder, shown, close };
    } catch (error) {
      await close();
      throw error;
    }
  }
}
