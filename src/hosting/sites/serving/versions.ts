import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { decodeManifest, type Manifest, StaticSite } from '#libs/static-site/index.js';
import { SiteFolders } from '../folders/site-folders.js';

const MAX_COMPILED = 200;

/** Versions as they are served, compiled once and kept while they are used: they never change. */
@Injectable()
export class Versions {
  private readonly compiled = new LRUCache<string, Promise<StaticSite>>({ max: MAX_COMPILED });

  constructor(private readonly folders: SiteFolders) {}

  async manifest(siteId: string, hash: string): Promise<Manifest> {
    return decodeManifest(await this.folders.readManifest(siteId, hash));
  }

  /** Rejects where the manifest is not there or not whole. */
  site(siteId: string, hash: string, number: number): Promise<StaticSite> {
    const key = `${siteId} ${hash} ${number}`;
    const kept = this.compiled.get(key);
    if (kept) return kept;
    const site = this.compile(siteId, hash, number);
    this.compiled.set(key, site);
    site.catch(() => this.compiled.delete(key));
    return site;
  }

  private async compile(siteId: string, hash: string, number: number): Promise<StaticSite> {
    return new StaticSite(await this.manifest(siteId, hash), { version: String(number) });
  }
}
