import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database } from '../../platform/database/index.js';
import { FileAuthorsStore } from '../../workspaces/changes/index.js';
import { type FileKnowledge, type KnownFile, type KnownFiles } from '../../workspaces/files/index.js';
import type { RunKnowledge } from '../tools/index.js';

declare global {
  interface ColumnTypes {
    'tool_call.files': KnownFile[] | null;
  }
}

/** Of a call; it learns of no more. */
const MAX_OF_CALL = 200;

/** What runs know of files. It is kept with their calls: another attempt, and later runs of the chat, know it, too. */
@Injectable()
export class RunFiles {
  constructor(
    private readonly database: Database,
    private readonly authors: FileAuthorsStore,
  ) {}

  /** For one attempt at a run. */
  of(runId: string): RunKnowledge {
    const seen = new Map<string, string>();
    return { ofCall: () => new CallFiles(this, runId, seen) };
  }

  /** What a file was like when a call of the run's chat last read or wrote it. */
  async lastSeen(runId: string, path: string): Promise<string | undefined> {
    const { rows } = await sql<{ etag: string }>`
      select f ->> 'etag' as etag
      from run own join run r on r.chat_id = own.chat_id and r.number <= own.number
      join tool_call c on c.run_id = r.id, jsonb_array_elements(c.files) f
      where own.id = ${runId} and c.files is not null and f ->> 'path' = ${path}
      order by r.number desc, c.step desc, c.position desc limit 1`.execute(this.database.tables());
    return rows[0]?.etag;
  }

  /** Whether the run has itself made a file what it is, by whatever means. */
  async isOwn(runId: string, workspaceId: string, { path, etag }: KnownFile): Promise<boolean> {
    const last = await this.authors.lastChange(workspaceId, path);
    return last?.run_id === runId && last.etag === etag;
  }
}

/** What one call goes by, and what it learns. */
class CallFiles implements KnownFiles {
  private readonly own = new Map<string, string>();

  constructor(
    private readonly store: RunFiles,
    private readonly runId: string,
    /** What the calls of this attempt have seen. */
    private readonly seen: Map<string, string>,
  ) {}

  get files(): KnownFile[] {
    return [...this.own].map(([path, etag]) => ({ path, etag }));
  }

  /** A caller may be stored; what their call knows is not. */
  toJSON(): undefined {
    return undefined;
  }

  learned({ path, etag }: KnownFile): void {
    this.seen.set(path, etag);
    if (this.own.size < MAX_OF_CALL) this.own.set(path, etag);
  }

  async knowledgeOf(workspaceId: string, file: KnownFile): Promise<FileKnowledge> {
    const { runId, store } = this;
    const seen = this.seen.get(file.path) ?? (await store.lastSeen(runId, file.path));
    if (seen === file.etag || (await store.isOwn(runId, workspaceId, file))) return 'known';
    return seen === undefined ? 'unseen' : 'changed';
  }
}
