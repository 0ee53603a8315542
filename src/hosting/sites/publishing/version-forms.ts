import { Injectable } from '@nestjs/common';
import { ConcurrencyLimit } from '#libs/concurrency-limit/index.js';
import {
  type BlobBatch,
  type BlobFolder,
  encodeManifest,
  isWorthCompressing,
  manifestHash,
  type SiteFile,
  SMALL_BYTES,
} from '#libs/static-site/index.js';
import { batchesOf } from '#libs/workspace-fs/index.js';
import { Database } from '../../../platform/database/index.js';
import { type Attempt } from '../../../platform/jobs/index.js';
import { Log } from '../../../platform/log/index.js';
import { SiteFolders } from '../folders/site-folders.js';
import { SitesStore } from '../records/sites.store.js';
import { VersionsStore } from '../records/versions.store.js';
import { Versions } from '../serving/versions.js';
import { SiteStorage } from '../storage/site-storage.js';

const BATCH = { files: 256, bytes: 32 * 1024 * 1024 };
const AT_ONCE = 4;

/** Compresses the files of built versions, which are served uncompressed until then. Replaces the manifest. */
@Injectable()
export class VersionForms {
  constructor(
    private readonly database: Database,
    private readonly sites: SitesStore,
    private readonly rows: VersionsStore,
    private readonly versions: Versions,
    private readonly folders: SiteFolders,
    private readonly storage: SiteStorage,
    private readonly log: Log,
  ) {}

  async run(
    { version_id, site_id }: { version_id: string; site_id: string },
    { signal }: Attempt,
  ): Promise<void> {
    const site = await this.sites.find(site_id);
    const version = site && (await this.rows.find(site_id, version_id));
    const before = version?.state === 'built' ? version.manifest_hash : null;
    if (!site || before === null) return;
    const manifest = await this.versions.manifest(site_id, before);
    const bytes = manifest.files.filter(awaitsForms).reduce((sum, { size }) => sum + size, 0);
    if (!(await this.storage.hasRoom(site, bytes))) {
      this.log.info(
        { site_id, site_version_id: version_id },
        'a version stays uncompressed for want of room',
      );
      return;
    }
    const blobs = this.folders.blobsOf(site_id);
    const files = await this.compressed(manifest.files, blobs, signal);
    await this.storage.added(site, blobs.addedBytes);
    const encoded = await encodeManifest({ ...manifest, files });
    const hash = manifestHash(encoded);
    if (hash === before) return;
    await this.database.transaction(async unit => {
      // While it is locked, no sweep takes a manifest that no version names yet.
      await this.sites.lock(unit, site_id);
      await this.folders.writeManifest(site_id, hash, encoded);
      if (await this.rows.replaceManifest(unit, version_id, before, hash))
        await this.sites.changed(unit, site_id);
    });
  }

  private async compressed(
    files: readonly SiteFile[],
    blobs: BlobFolder,
    signal: AbortSignal,
  ): Promise<SiteFile[]> {
    const batch = this.folders.batchFor(blobs);
    const limit = new ConcurrencyLimit(AT_ONCE);
    const all: SiteFile[] = [];
    try {
      for (const some of batchesOf(files, BATCH)) {
        signal.throwIfAborted();
        const made = some.map(file => limit.run(() => withForms(file, blobs, batch)));
        await Promise.allSettled(made);
        all.push(...(await Promise.all(made)));
        await batch.place();
      }
    } finally {
      await batch.discard();
    }
    await blobs.sync();
    return all;
  }
}

/** Whether a file should be compressed, and is not yet. */
export const awaitsForms = ({ size, type, br, gz }: SiteFile): boolean =>
  br === undefined && gz === undefined && isWorthCompressing(size, type);

async function withForms(file: SiteFile, blobs: BlobFolder, batch: BlobBatch): Promise<SiteFile> {
  if (!awaitsForms(file)) return file;
  const { hash, size, type } = file;
  if (size > SMALL_BYTES) return { ...file, ...(await blobs.compress(hash, size, type)) };
  const blob = await blobs.open(hash);
  const bytes = await blob.readFile().finally(() => blob.close());
  return { ...file, ...(await batch.compress(hash, bytes, type)) };
}
