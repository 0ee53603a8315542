import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { Injectable } from '@nestjs/common';
import { validate as isUuid } from 'uuid';
import { BlobBatch, BlobFolder } from '#libs/static-site/index.js';
import { atOnce, WorkspaceFs, WorkspaceFsError } from '#libs/workspace-fs/index.js';
import { Config } from '../../../platform/config/index.js';

/** Unused folders older than this were left by a dead process. */
const LEFT_MS = 3_600_000;

/** Files of sites and builds. Paths contain nothing that a user names. */
@Injectable()
export class SiteFolders {
  private readonly sites: string;
  private readonly builds: string;

  constructor(config: Config) {
    this.sites = path.resolve(config.dataDir, 'sites');
    this.builds = path.resolve(config.dataDir, 'builds');
  }

  blobsOf(siteId: string): BlobFolder {
    return new BlobFolder(path.join(this.sites, siteId, 'blobs'));
  }

  batchFor(blobs: BlobFolder): BlobBatch {
    const flush = (folder: string) => new WorkspaceFs(folder, { maxFileBytes: 0 }).flush();
    return new BlobBatch(blobs, { atOnce, flush });
  }

  buildOf(versionId: string): string {
    return path.join(this.builds, versionId);
  }

  async prepareBuilds(): Promise<void> {
    await mkdir(this.builds, { recursive: true, mode: 0o711 });
  }

  /** Also removes folders without permissions, or deeper than the longest path. */
  async removeBuild(versionId: string): Promise<void> {
    try {
      await new WorkspaceFs(this.builds, { maxFileBytes: 0 }).remove(versionId, { recursive: true });
    } catch (error) {
      if (!(error instanceof WorkspaceFsError && error.code === 'not_found')) throw error;
    }
  }

  readManifest(siteId: string, hash: string): Promise<Buffer> {
    return readFile(this.manifestOf(siteId, hash));
  }

  /** Durable when it resolves. */
  async writeManifest(siteId: string, hash: string, encoded: Buffer): Promise<void> {
    const target = this.manifestOf(siteId, hash);
    await mkdir(path.dirname(target), { recursive: true });
    const temporary = `${target}.${process.pid}.${Date.now().toString(36)}`;
    const file = await open(temporary, 'wx', 0o440);
    try {
      await file.writeFile(encoded);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, target);
    const folder = await open(path.dirname(target), 'r');
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  }

  /** Removes all other manifests. Requires that no build of the site is running. */
  async keepManifests(siteId: string, hashes: ReadonlySet<string>): Promise<void> {
    const folder = path.dirname(this.manifestOf(siteId, ''));
    for (const name of await namesIn(folder)) {
      const [hash = ''] = name.split('.', 1);
      if (!name.endsWith('.gz') || !hashes.has(hash)) await rm(path.join(folder, name), { force: true });
    }
  }

  async sitesOnDisk(): Promise<string[]> {
    return (await namesIn(this.sites)).filter(name => isUuid(name));
  }

  /** Version ids whose build folders have existed for a while. */
  async buildsOnDisk(): Promise<string[]> {
    const ids = (await namesIn(this.builds)).filter(name => isUuid(name));
    const isLeft = await Promise.all(ids.map(id => isOlder(this.buildOf(id), LEFT_MS)));
    return ids.filter((_, index) => isLeft[index]);
  }

  async removeSite(siteId: string): Promise<void> {
    await rm(path.join(this.sites, siteId), { recursive: true, force: true });
  }

  private manifestOf(siteId: string, hash: string): string {
    return path.join(this.sites, siteId, 'manifests', `${hash}.gz`);
  }
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

async function isOlder(folder: string, ms: number): Promise<boolean> {
  const found = await stat(folder).catch(() => undefined);
  return found !== undefined && found.mtimeMs < Date.now() - ms;
}
