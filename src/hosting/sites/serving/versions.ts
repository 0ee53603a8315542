import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { decodeManifest, type Manifest, StaticSite } from '#libs/static-site/index.js';
import { SiteFolders } from '../folders/site-folders.js';
import { SitesStore } from '../records/sites.store.js';
import { type VersionRow, VersionsStore } from '../records/versions.store.js';

const MAX_COMPILED = 200;
/** How long assets of earlier versions are served, for tabs that are still open. */
const EARLIER_DAYS = 14;
const MAX_EARLIER = 10;

type FiledVersion = VersionRow & { readonly manifest_hash: string };

/** Compiled versions, cached: they never change. */
@Injectable()
export class Versions {
  private readonly compiled = new LRUCache<string, StaticSite, FiledVersion>({
    max: MAX_COMPILED,
    ignoreFetchAbort: true,
    fetchMethod: (_key, _stale, { context }) => this.compile(context),
  });

  constructor(
    private readonly folders: SiteFolders,
    private readonly sites: SitesStore,
    private readonly rows: VersionsStore,
  ) {}

  /** The version of that number, or the live one. */
  async find(siteId: string, number: number | undefined): Promise<FiledVersion | undefined> {
    if (number !== undefined) {
      const row = await this.rows.byNumber(siteId, number);
      return row?.state === 'built' && hasFiles(row) ? row : undefined;
    }
    const site = await this.sites.find(siteId);
    const row = site?.live_version_id && (await this.rows.find(siteId, site.live_version_id));
    return row && hasFiles(row) ? row : undefined;
  }

  /** Versions other than `number` that were live recently, newest first. */
  async earlier(siteId: string, number: number): Promise<FiledVersion[]> {
    const rows = await this.rows.servedBefore(siteId, number, EARLIER_DAYS, MAX_EARLIER);
    return rows.filter(hasFiles);
  }

  async earlierManifests(siteId: string): Promise<Manifest[]> {
    const rows = await this.earlier(siteId, 0);
    return Promise.all(rows.map(({ manifest_hash }) => this.manifest(siteId, manifest_hash)));
  }

  async manifest(siteId: string, hash: string): Promise<Manifest> {
    return decodeManifest(await this.folders.readManifest(siteId, hash));
  }

  /** Rejects if the manifest is missing or damaged. */
  site(version: FiledVersion): Promise<StaticSite> {
    const { site_id, manifest_hash, number } = version;
    return this.compiled.forceFetch(`${site_id} ${manifest_hash} ${number}`, { context: version });
  }

  private async compile({ site_id, manifest_hash, number }: FiledVersion): Promise<StaticSite> {
    return new StaticSite(await this.manifest(site_id, manifest_hash), { version: String(number) });
  }
}

const hasFiles = (row: VersionRow): row is FiledVersion => row.manifest_hash !== null;
