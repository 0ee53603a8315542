import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { Finding } from '#libs/front-matter/index.js';
import { TookTooLong } from '#libs/worker-pool/index.js';
import { type WorkspaceFs, WorkspaceFsError } from '#libs/workspace-fs/index.js';
import { TopicCache, Topics } from '../../../platform/topics/index.js';
import { task, Workers } from '../../../platform/workers/index.js';
import { changesTopic } from '../../../workspaces/changes/index.js';
import { type FormDefinition, LIMITS } from './form-definition.js';
import type { FormFile } from './form-file.js';

const READ = task('src/publishing/forms/file/form-file', 'readFormFile');
/** Far more than a file of the largest size takes, unless it was written to take long. */
const READ_MS = 3_000;
/** A command in a sandbox may change a file without a word. */
const RECENT_MS = 20;
const MAX_KEPT = 200;

/** A `.form` file as it is now. */
export interface CheckedFile {
  /** null where a finding is an error. */
  readonly definition: FormDefinition | null;
  readonly findings: readonly Finding[];
  /** Changes with what the file says. */
  readonly hash: string;
}

/** `.form` files, read in a worker thread; what was read is kept while the file stays as it is. */
@Injectable()
export class FormFiles {
  private readonly kept = new LRUCache<string, Promise<CheckedFile>>({ max: MAX_KEPT });
  /** What was read a moment ago: a page that many ask for looks at its file a few times a second. */
  private readonly recent: TopicCache<CheckedFile>;

  constructor(
    private readonly workers: Workers,
    topics: Topics,
  ) {
    this.recent = new TopicCache(topics, [changesTopic], { max: MAX_KEPT, ttlMs: RECENT_MS });
  }

  /** Throws WorkspaceFsError where there is no such file. What is wrong with what it says is in the findings. */
  read(workspaceId: string, files: WorkspaceFs, path: string): Promise<CheckedFile> {
    return this.recent.get(`${workspaceId} ${path}`, () => this.readRevision(workspaceId, files, path));
  }

  private async readRevision(workspaceId: string, files: WorkspaceFs, path: string): Promise<CheckedFile> {
    const revision = await files.revision(path);
    if (revision === null) throw new WorkspaceFsError('not_found', path);
    const key = `${workspaceId} ${path} ${revision}`;
    const kept = this.kept.get(key);
    if (kept) return kept;
    const reading = this.readNow(files, path);
    this.kept.set(key, reading);
    reading.catch(() => this.kept.delete(key));
    return reading;
  }

  private async readNow(files: WorkspaceFs, path: string): Promise<CheckedFile> {
    const name = path.slice(path.lastIndexOf('/') + 1);
    const { size } = await files.stat(path);
    if (size > LIMITS.fileBytes)
      return failed(name, `The file has ${size} bytes; a form may have ${LIMITS.fileBytes}`);
    const bytes = await files.readBytes(path, LIMITS.fileBytes);
    try {
      const file = await this.workers.run<FormFile>(READ, { name, text: bytes.toString() }, READ_MS);
      return { ...file, hash: hash('sha256', bytes, 'base64url') };
    } catch (error) {
      if (!(error instanceof TookTooLong)) throw error;
      return failed(name, 'The file takes too long to be read', 'Make its texts simpler');
    }
  }
}

const failed = (file: string, message: string, suggestion: string | null = null): CheckedFile => ({
  definition: null,
  findings: [{ file, line: null, severity: 'error', message, suggestion }],
  hash: '',
});
