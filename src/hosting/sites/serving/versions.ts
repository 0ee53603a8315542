import { Injectable } from '@nestjs/common';
import { decodeManifest, type Manifest, StaticSite } from '#libs/static-site/index.js';
import { SiteFolders } from '../folders/site-folders.js';

const MAX_COMPILED = 200;

/** Versions as they are served, compiled once and kept while they are used: they never change. */
@Injectable()
export class Versions {
  private readonly compiled = new Map<string, Promise<StaticSite>>();

  constructor(private readonly folders: SiteFolders) {}

  async manifest(siteId: string, hash: string): Promise<Manifest> {
    return decodeManifest(await this.folders.readManifest(siteId, hash));
  }

  /** Rejects where the manifest is not there or not whole. */
  site(siteId: string, hash: string, number: number): Promise<StaticSite> {
    const key = `${siteId} ${hash} ${number}`;
    const kept = this.compiled.get(key);
    // Used last, forgotten last.
    this.compiled.delete(key);
    const site = kept ?? this.compile(siteId, hash, number);
    this.compiled.set(key, site);
    if (!kept) {
      site.catch(() => this.compiled.delete(key));
      const [oldest] = this.compiled.keys();
      if (this.compiled.size > MAX_COMPILED && oldest !== undefined) this.compiled.delete(oldest);
    }
    return site;
  }

  private async compile(siteId: string, hash: string, number: number): Promise<StaticSite> {
    return new StaticSite(await this.manifest(siteId, hash), { version: String(number) });
  }
}
