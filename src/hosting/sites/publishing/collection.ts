import { Injectable } from '@nestjs/common';
import {
  type BlobFolder,
  buildManifest,
  type CollectedFile,
  encodeManifest,
  type Manifest,
  manifestHash,
} from '#libs/static-site/index.js';
import { batchesOf, type Entry, type WorkspaceFs, WorkspaceFsError } from '#libs/workspace-fs/index.js';
import { Config } from '../../../platform/config/index.js';
import { BuildFailure, type DetectedProject } from '../../builds/index.js';
import { SiteFolders } from '../folders/site-folders.js';
import type { SiteRow } from '../records/sites.store.js';
import type { BuiltVersion, Finding } from '../records/versions.store.js';
import { BlobWriter } from './blob-writer.js';
import type { BuildReports } from './build-reports.js';
import { below, leftOut } from './site-source.js';
import { awaitsForms } from './version-forms.js';

const BATCH = { files: 128, bytes: 16 * 1024 * 1024 };
const MAX_RULES_BYTES = 1024 * 1024;
const RESERVED = ['_atelier'];

export interface Output {
  readonly files: WorkspaceFs;
  /** Root of the site; '' is the whole. */
  readonly path: string;
  /** Regular files. */
  readonly entries: readonly Entry[];
  /** Paths that are left out. */
  readonly skipped: readonly string[];
  /** Folder that paths in findings are relative to; '' for the workspace. */
  readonly folder: string;
  /** Unreadable files are left out, or fail the build. */
  readonly unreadable: 'left out' | 'refused';
}

export interface Collecting {
  readonly site: SiteRow;
  readonly project: DetectedProject;
  readonly output: Output;
  /** Manifests of earlier versions, whose names and compressed forms are reused. */
  readonly earlier: readonly Manifest[];
  readonly findings: readonly Finding[];
  readonly reports: BuildReports;
  readonly signal: AbortSignal;
}

export interface Collected {
  readonly built: BuiltVersion;
  readonly added: number;
}

/** Stores the files of a site as blobs, while others may still change them. */
@Injectable()
export class Collection {
  constructor(
    private readonly config: Config,
    private readonly folders: SiteFolders,
  ) {}

  /** Durable when it resolves. Throws BuildFailure. */
  async collect(collecting: Collecting): Promise<Collected> {
    const { site, project, output, earlier } = collecting;
    this.requireFew(output.entries.length);
    const blobs = this.folders.blobsOf(site.id);
    const skipped = [...output.skipped];
    const collected = await this.putAll(blobs, collecting, skipped);
    const { manifest, findings } = await buildManifest({
      files: collected.map(file => ({ ...file, path: within(output.path, file.path) })),
      headers: await readText(output, '_headers'),
      redirects: await readText(output, '_redirects'),
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
    await this.folders.writeManifest(site.id, hash, encoded);
    const built = {
      preset: project.preset,
      manifest_hash: hash,
      files: manifest.files.length,
      bytes: manifest.files.reduce((sum, { size }) => sum + size, 0),
      awaits_forms: manifest.files.some(awaitsForms),
      findings: [
        ...collecting.findings,
        ...leftOut(skipped, output.folder),
        ...project.findings,
        ...findings,
      ],
    };
    return { built, added: blobs.addedBytes };
  }

  private requireFew(files: number): void {
    const { files: most } = this.config.siteLimits;
    if (files > most) throw new BuildFailure(`The site has ${files} files; it may have ${most}.`);
  }

  private async putAll(
    blobs: BlobFolder,
    { output, earlier, reports, signal }: Collecting,
    skipped: string[],
  ): Promise<CollectedFile[]> {
    const collected: CollectedFile[] = [];
    const writer = new BlobWriter(blobs, this.folders.batchFor(blobs), earlier, this.config.siteLimits.bytes);
    try {
      for (const batch of batchesOf(output.entries, BATCH)) {
        signal.throwIfAborted();
        const paths = batch.map(({ path }) => path);
        const outcomes = await output.files.readEach(paths, file => writer.take(file));
        for (const [index, outcome] of outcomes.entries()) {
          if (outcome.status === 'fulfilled') collected.push(outcome.value);
          else skipped.push(refused(paths[index] ?? '', outcome.reason, output));
        }
        await reports.progress({ phase: 'collect', done: collected.length, total: output.entries.length });
      }
      await writer.place();
    } finally {
      await writer.discard();
    }
    return collected;
  }
}

/** Path of a file that is left out. Rethrows errors that end the build. */
function refused(path: string, error: unknown, { unreadable }: Output): string {
  if (!(error instanceof WorkspaceFsError) || error.code === 'no_space') throw error;
  if (unreadable === 'refused')
    throw new BuildFailure(`${path} changed while it was collected: ${error.message}.`);
  return path;
}

const within = (folder: string, path: string): string =>
  folder === '' ? path : path.slice(folder.length + 1);

async function readText({ files, entries, path: folder }: Output, name: string): Promise<string | undefined> {
  const path = below(folder, name);
  const entry = entries.find(one => one.path === path);
  if (!entry) return undefined;
  if (entry.size > MAX_RULES_BYTES)
    throw new BuildFailure(`${name} is larger than ${MAX_RULES_BYTES} bytes.`);
  return (await files.readBytes(path, MAX_RULES_BYTES)).toString('utf8');
}
