import { Injectable } from '@nestjs/common';
import { ConcurrencyLimit } from '#libs/concurrency-limit/index.js';
import { type FoundSecret, SecretScan } from '#libs/secret-scan/index.js';
import { batchesOf, type Entry, isNoFile, type WorkspaceFs } from '#libs/workspace-fs/index.js';
import { newId, type UnitOfWork } from '../../../platform/database/index.js';
import { Events } from '../../../platform/events/index.js';
import { Jobs } from '../../../platform/jobs/index.js';
import { NoRoom, WorkspaceQuota } from '../../changes/index.js';
import { WorkspaceFolders, WorkspacesStore } from '../../core/index.js';
import { type Copied, copyBatch } from '../../duplicate/index.js';
import { type Operation, OperationRefused, type OperationWork, type Report } from '../../operations/index.js';
import { MANIFEST, MAX_MANIFEST_BYTES, parseManifest } from '../records/manifest.js';
import { templateBlocked, templateFailed, templatePublished } from '../records/template-events.js';
import { folderOfVersion, removeTemplateFiles, TemplateFolders } from '../records/template-folders.js';
import { type PublishInput, templatePublish } from '../records/template-operations.js';
import { type CopiedVersion, TemplatesStore } from '../records/templates.store.js';
import { IGNORE_FILE, ignoredIn, selectEntries, splitResponses } from './left-out.js';

const BATCH = { files: 128, bytes: 16 * 1024 * 1024 };
const CONCURRENCY = 2;
const MAX_FINDINGS = 1000;
const MAX_FILES = 100_000;
const MAX_BYTES = 2 * 1024 ** 3;
/** Where the first line of a table ends, or it is none of ours. */
const HEAD_BYTES = 64 * 1024;

type Publish = Operation<PublishInput>;

/** Copies a workspace aside and scans the copy, which nobody changes any more; an attempt after a crash begins anew. */
@Injectable()
export class TemplatePublication implements OperationWork<PublishInput> {
  readonly kind = templatePublish;
  private readonly limit = new ConcurrencyLimit(CONCURRENCY);

  constructor(
    private readonly templates: TemplatesStore,
    private readonly folders: TemplateFolders,
    private readonly workspaces: WorkspacesStore,
    private readonly workspaceFolders: WorkspaceFolders,
    private readonly quota: WorkspaceQuota,
    private readonly jobs: Jobs,
    private readonly events: Events,
  ) {}

  async perform(operation: Publish, report: Report, signal: AbortSignal) {
    const whose = [operation.organization_id, operation.actor_id];
    const work = () => this.publish(operation, report, signal);
    const copied = await this.limit.run(work, { whose, signal });
    await this.templates.keepCopied(operation.input.version_id, copied);
    return { workspace_id: operation.subject_id, outcome: stateAfter(copied.findings, operation.input) };
  }

  async complete(unit: UnitOfWork, { input }: Publish): Promise<void> {
    const version = versionOf(input);
    const found = await this.templates.version(version.id, unit);
    if (!found || stateAfter(found.findings, input) === 'blocked') {
      await this.templates.settle(unit, version.id, 'blocked');
      await this.events.publish(unit, templateBlocked, { version_id: version.id });
      return this.removeFiles(unit, version);
    }
    await this.templates.settle(unit, version.id, 'published');
    await this.events.publish(unit, templatePublished, { version_id: version.id });
    const { name = null, description } = found.manifest;
    const called = input.name ?? name;
    await this.templates.update(unit, version.template_id, {
      ...(called && { name: called.slice(0, 120) }),
      ...(description && { description }),
      ...(input.visibility && { visibility: input.visibility }),
    });
  }

  async undo(unit: UnitOfWork, { id, input }: Publish): Promise<void> {
    const version = versionOf(input);
    await this.events.publish(unit, templateFailed, { operation_id: id });
    await this.templates.removeVersion(unit, version);
    await this.removeFiles(unit, version);
  }

  private async publish(
    { subject_id, input }: Publish,
    report: Report,
    signal: AbortSignal,
  ): Promise<CopiedVersion> {
    const workspace = await this.workspaces.folderOf(subject_id);
    const version = versionOf(input);
    if (!workspace || !(await this.templates.version(version.id)))
      throw new OperationRefused('The workspace or the template was deleted meanwhile');
    const source = this.workspaceFolders.open(workspace);
    const manifest = parseManifest((await textOf(source, MANIFEST)) ?? '');
    const ignored = ignoredIn((await textOf(source, IGNORE_FILE)) ?? '');
    const selected = await selectEntries(await source.listAll(''), [...ignored, ...manifest.exclude]);
    const { kept: entries, responses } = await splitResponses(selected, path => headOf(source, path));
    const bytes = requireFitting(entries);
    await this.requireRoom(subject_id, bytes);
    const target = await this.folders.create(version);
    const copied: Copied = { done: 0, bytes_done: 0, skipped: [...responses] };
    const publish = () => report({ ...copied, total: entries.length, bytes_total: bytes });
    await publish();
    const findings: FoundSecret[] = [];
    for (const batch of batchesOf(entries, BATCH)) {
      signal.throwIfAborted();
      await copyBatch(source, target, batch, copied);
      await publish();
    }
    await target.flush();
    const files = (await target.listAll('')).filter(({ type }) => type === 'file');
    for (const { path } of files) {
      signal.throwIfAborted();
      findings.push(...(await scan(target, path, signal)));
      if (findings.length >= MAX_FINDINGS) break;
    }
    return {
      manifest,
      findings: findings.slice(0, MAX_FINDINGS),
      skipped: copied.skipped,
      files: files.length,
      bytes: files.reduce((sum, { size }) => sum + size, 0),
    };
  }

  /** Versions count as room of their workspace. */
  private async requireRoom(workspaceId: string, bytes: number): Promise<void> {
    try {
      await this.quota.require(workspaceId, { bytes, files: 0 });
    } catch (error) {
      if (error instanceof NoRoom) throw new OperationRefused(error.detail);
      throw error;
    }
  }

  private removeFiles(unit: UnitOfWork, version: { id: string; template_id: string }): Promise<void> {
    return this.jobs.enqueue(unit, removeTemplateFiles, newId(), { folder: folderOfVersion(version) });
  }
}

/** A finding blocks the version until its publisher acknowledges it. */
const stateAfter = (findings: readonly FoundSecret[], { acknowledge }: PublishInput) =>
  findings.every(({ fingerprint }) => acknowledge.includes(fingerprint)) ? 'published' : 'blocked';

const versionOf = ({ template_id, version_id }: PublishInput) => ({ id: version_id, template_id });

async function textOf(files: WorkspaceFs, path: string): Promise<string | null> {
  const entry = await files.find(path);
  return entry?.type === 'file' ? (await files.readBytes(path, MAX_MANIFEST_BYTES)).toString('utf8') : null;
}

/** The first bytes of a file; nothing where it is gone meanwhile, or no file any more. */
async function headOf(files: WorkspaceFs, path: string): Promise<string> {
  try {
    const file = await files.openRead(path);
    try {
      const chunks: Buffer[] = [];
      for await (const chunk of file.stream({ end: HEAD_BYTES })) chunks.push(chunk as Buffer);
      return Buffer.concat(chunks).toString();
    } finally {
      await file.close();
    }
  } catch (error) {
    if (isNoFile(error)) return '';
    throw error;
  }
}

function requireFitting(entries: readonly Entry[]): number {
  const bytes = entries.reduce((sum, { size }) => sum + size, 0);
  const tooMuch =
    entries.length > MAX_FILES
      ? `${entries.length} files and folders; a template has ${MAX_FILES} at most`
      : bytes > MAX_BYTES && `${bytes} bytes; a template has ${MAX_BYTES} at most`;
  if (tooMuch) throw new OperationRefused(`The workspace has ${tooMuch}; leave some out with ${IGNORE_FILE}`);
  return bytes;
}

async function scan(files: WorkspaceFs, path: string, signal: AbortSignal): Promise<FoundSecret[]> {
  const found = new SecretScan(path);
  const file = await files.openRead(path);
  try {
    for await (const chunk of file.stream()) {
      signal.throwIfAborted();
      found.add(chunk as Buffer);
    }
  } finally {
    await file.close();
  }
  return found.end();
}
