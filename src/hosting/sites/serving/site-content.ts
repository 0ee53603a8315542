import type { IncomingMessage, ServerResponse } from 'node:http';
import { Injectable, OnModuleInit } from '@nestjs/common';
import { BlobCache, type BlobFolder, type StaticSite, send } from '#libs/static-site/index.js';
import { Log } from '../../../platform/log/index.js';
import { TopicCache, Topics } from '../../../platform/topics/index.js';
import {
  type Admitted,
  type HostedContent,
  HostedContents,
  type HostedHost,
  type OfferedActions,
  Offload,
  sendNothingPublished,
} from '../../gateway/index.js';
import { SiteFolders } from '../folders/site-folders.js';
import { SitesStore, siteTopic } from '../records/sites.store.js';
import { Versions } from './versions.js';

const CACHE_BYTES = 64 * 1024 * 1024;
const MAX_SITES = 1000;
const TTL_MS = 10 * 60_000;

interface Served {
  readonly site: StaticSite;
  readonly earlier: readonly StaticSite[];
  readonly blobs: BlobFolder;
}

@Injectable()
export class SiteContent implements HostedContent, OnModuleInit {
  readonly kind = 'site';
  private readonly served: TopicCache<Served | null>;
  private readonly cache: BlobCache;

  constructor(
    topics: Topics,
    private readonly contents: HostedContents,
    private readonly sites: SitesStore,
    private readonly versions: Versions,
    private readonly folders: SiteFolders,
    private readonly offload: Offload,
    private readonly log: Log,
  ) {
    this.served = new TopicCache(topics, [siteTopic], { max: MAX_SITES, ttlMs: TTL_MS });
    this.cache = new BlobCache({ maxBytes: CACHE_BYTES });
  }

  onModuleInit(): void {
    this.contents.add(this);
  }

  async serve(
    { target, version, host }: HostedHost,
    { isPublic }: Admitted,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const key = `${target.id} ${version ?? ''}`;
    const found = this.served.find(key, () => this.look(target.id, version));
    const served = found instanceof Promise ? await found : found;
    if (!served) {
      sendNothingPublished(request, response);
      return;
    }
    const { method = 'GET', url = '/', headers } = request;
    const answer = served.site.answer(
      { method, path: url, headers, host },
      { earlier: served.earlier, cacheability: isPublic ? 'public' : 'private' },
    );
    await send(response, answer, served.blobs, this.cache, {
      accel: this.offload.isFor(request) ? `/_blobs/${target.id}/` : undefined,
      // A version that is not live is for those who look at it, not for search engines.
      headers: version === undefined ? undefined : ['X-Robots-Tag', 'noindex'],
      onError: (error, blob) =>
        this.log.error(
          { err: error, site_id: target.id, blob: blob.hash },
          'a file of a site cannot be read',
        ),
    });
  }

  async actions(siteId: string): Promise<OfferedActions | undefined> {
    const site = await this.sites.find(siteId);
    if (!site?.actions_actor || site.actions.length === 0) return undefined;
    return { names: site.actions, isPublic: site.actions_public, by: site.actions_actor };
  }

  private async look(siteId: string, number: number | undefined): Promise<Served | null> {
    const version = await this.versions.find(siteId, number);
    if (!version) return null;
    const earlier = await this.versions.earlier(siteId, version.number);
    return {
      site: await this.versions.site(version),
      earlier: await Promise.all(earlier.map(row => this.versions.site(row))),
      blobs: this.folders.blobsOf(siteId),
    };
  }
}
