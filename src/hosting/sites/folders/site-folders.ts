import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { Injectable } from '@nestjs/common';
import { BlobFolder } from '#libs/static-site/index.js';
import { Config } from '../../../platform/config/index.js';

/** Where sites and builds have their files. Nothing that a user names is part of a path. */
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

  /** The folder of one build, which nobody else uses. */
  buildOf(versionId: string): string {
    return path.join(this.builds, versionId);
  }

  async prepareBuilds(): Promise<void> {
    await mkdir(this.builds, { recursive: true, mode: 0o711 });
  }

  async removeBuild(versionId: string): Promise<void> {
    await rm(this.buildOf(versionId), { recursive: true, force: true });
  }

  readManifest(siteId: string, hash: string): Promise<Buffer> {
    return readFile(this.manifestOf(siteId, hash));
  }

  /** Durable and whole when this resolves. */
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

  async removeSite(siteId: string): Promise<void> {
    await rm(path.join(this.sites, siteId), { recursive: true, force: true });
  }

  private manifestOf(siteId: string, hash: string): string {
    return path.join(this.sites, siteId, 'manifests', `${hash}.gz`);
  }
}
