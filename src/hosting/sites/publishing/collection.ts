import { Injectable } from '@nestjs/common';
import {
  type BlobFolder,
  BlobTooLarge,
  buildManifest,
  type CollectedFile,
  encodeManifest,
  type Manifest,
  manifestHash,
  mediaTypeOf,
} from '#libs/static-site/index.js';
import { type Entry, WorkspaceFs, WorkspaceFsError } from '#libs/workspace-fs/index.js';
import { Config } from '../../../platform/config/index.js';
import { BuildFailure, type BuildOutput, type DetectedProject } from '../../builds/index.js';
import { SiteFolders } from '../folders/site-folders.js';
import type { SiteRow } from '../records/sites.store.js';
import type { BuiltVersion, Finding } from '../records/versions.store.js';
import type { BuildReports } from './build-reports.js';

const AT_ONCE = 4;
const MAX_RULES_BYTES = 1024 * 1024;
const RESERVED = ['_atelier'];

/** What is to be collected, and who hears of it. */
export interface Collecting {
  readonly site: SiteRow;
  readonly project: DetectedProject;
  readonly output: BuildOutput;
  /** Versions before, whose names are remembered. */
  readonly earlier: readonly Manifest[];
  readonly findings: readonly Finding[];
  readonly reports: BuildReports;
  readonly signal: AbortSignal;
}

/** Takes what a build has made into the blobs of the site, while code of the build may still change it. */
@Injectable()
export class Collection {
  constructor(
    private readonly config: Config,
    private readonly folders: SiteFolders,
  ) {}

  /** Durable when it resolves. Throws BuildFailure. */
  async collect(collecting: Collecting): Promise<BuiltVersion> {
    const { site, project, output, earlier } = collecting;
    const files = new WorkspaceFs(output.folder, { maxFileBytes: 0 });
    const entries = await this.entriesOf(files, output.path);
    const blobs = this.folders.blobsOf(site.id);
    const collected = await this.putAll(files, entries, blobs, collecting);
    const { manifest, findings } = await buildManifest({
      files: collected.map(file => ({ ...file, path: below(output.path, file.path) })),
      headers: await textOf(files, entries, output.path, '_headers'),
      redirects: await textOf(files, entries, output.path, '_redirects'),
      spa: site.spa ?? project.spa ?? null,
      earlier,
      reserved: RESERVED,
    });
    if (manifest.files.length === 0)
      throw new BuildFailure(
        `There is nothing to publish in ${output.path === '' ? 'the folder' : output.path}: put an index.html there, or set output_dir.`,
      );
    const encoded = await encodeManifest(manifest);
    const hash = manifestHash(encoded);
    await blobs.sync();
    await this.folders.writeManifest(site.id, hash, encoded);
    return {
      preset: project.preset,
      manifest_hash: hash,
      files: manifest.files.length,
      bytes: manifest.files.reduce((sum, { size }) => sum + size, 0),
      findings: [...collecting.findings, ...project.findings, ...findings],
    };
  }

  private async entriesOf(files: WorkspaceFs, path: string): Promise<Entry[]> {
    const { siteMaxFiles } = this.config;
    let all: Entry[];
    try {
      all = await files.listAll(path);
    } catch (error) {
      if (error instanceof WorkspaceFsError)
        throw new BuildFailure(
          `The build left nothing at ${path || 'the folder'}: ${error.message}. Set output_dir.`,
        );
      throw error;
    }
    const entries = all.filter(({ type }) => type === 'file');
    if (entries.length > siteMaxFiles)
      throw new BuildFailure(`The site has ${entries.length} files; it may have ${siteMaxFiles}.`);
    return entries;
  }

  private async putAll(
    files: WorkspaceFs,
    entries: readonly Entry[],
    blobs: BlobFolder,
    { reports, signal }: Collecting,
  ): Promise<CollectedFile[]> {
    const collected: CollectedFile[] = [];
    let next = 0;
    let left = this.config.siteMaxBytes;
    const work = async () => {
      for (let entry = entries[next++]; entry; entry = entries[next++]) {
        signal.throwIfAborted();
        const file = await put(files, entry, blobs, left);
        left -= file.size;
        if (left < 0) throw tooLarge(this.config.siteMaxBytes);
        collected.push(file);
        await reports.progress({ phase: 'collect', done: collected.length, total: entries.length });
      }
    };
    const workers = await Promise.allSettled(Array.from({ length: AT_ONCE }, work));
    const failed = workers.find(worker => worker.status === 'rejected');
    if (failed) throw failed.reason;
    return collected;
  }
}

const tooLarge = (bytes: number) =>
  new BuildFailure(`The site is larger than ${bytes} bytes, which is the most.`);

async function put(
  files: WorkspaceFs,
  { path }: Entry,
  blobs: BlobFolder,
  left: number,
): Promise<CollectedFile> {
  try {
    const file = await files.openRead(path);
    const { hash, size } = await blobs.put(file.stream(), { maxBytes: Math.max(0, left) });
    const type = mediaTypeOf(path);
    return { path, hash, size, type, ...(await blobs.compress(hash, size, type)) };
  } catch (error) {
    if (error instanceof BlobTooLarge) throw tooLarge(left);
    if (error instanceof WorkspaceFsError && error.code !== 'no_space')
      throw new BuildFailure(`${path} changed while it was collected: ${error.message}.`);
    throw error;
  }
}

const below = (folder: string, path: string): string =>
  folder === '' ? path : path.slice(folder.length + 1);

async function textOf(
  files: WorkspaceFs,
  entries: readonly Entry[],
  folder: string,
  name: string,
): Promise<string | undefined> {
  const path = folder === '' ? name : `${folder}/${name}`;
  const entry = entries.find(one => one.path === path);
  if (!entry) return undefined;
  if (entry.size > MAX_RULES_BYTES)
    throw new BuildFailure(`${name} is larger than ${MAX_RULES_BYTES} bytes.`);
  return (await files.readBytes(path, MAX_RULES_BYTES)).toString('utf8');
}
