import { Injectable, OnModuleInit } from '@nestjs/common';
import { sql } from 'kysely';
import { Database, type UnitOfWork } from '../../platform/database/index.js';
import { StoredElsewhere } from '../../workspaces/changes/index.js';
import type { NewAttachment } from './attachments.service.js';

/** The bytes of attachments, kept once for each chat. They count as room of its workspace. */
@Injectable()
export class AttachmentsStore implements OnModuleInit {
  constructor(
    private readonly database: Database,
    private readonly elsewhere: StoredElsewhere,
  ) {}

  onModuleInit(): void {
    this.elsewhere.add(workspaceId => this.bytesIn(workspaceId));
  }

  /** Which of these the chat has. */
  async known(chatId: string, hashes: readonly string[]): Promise<Set<string>> {
    const { rows } = await sql<{ hash: string }>`
      select hash from attachment where chat_id = ${chatId} and hash = any(${hashes}::text[])`.execute(
      this.database.tables(),
    );
    return new Set(rows.map(({ hash }) => hash));
  }

  private async bytesIn(workspaceId: string): Promise<number> {
    const { rows } = await sql<{ bytes: string }>`
      select coalesce(sum(size), 0) as bytes from attachment where workspace_id = ${workspaceId}`.execute(
      this.database.tables(),
    );
    return Number(rows[0]?.bytes ?? 0);
  }

  /** By hash; a hash that the chat does not have is left out. */
  async bytesOf(chatId: string, hashes: readonly string[]): Promise<Map<string, Buffer>> {
    const { rows } = await sql<{ hash: string; bytes: Buffer }>`
      select hash, bytes from attachment where chat_id = ${chatId} and hash = any(${hashes}::text[])`.execute(
      this.database.tables(),
    );
    return new Map(rows.map(({ hash, bytes }) => [hash, bytes]));
  }
}

/** Keeps attachments of a chat, each once. */
export async function keepAttachments(
  unit: UnitOfWork,
  { id, workspaceId }: { readonly id: string; readonly workspaceId: string | null },
  attachments: readonly NewAttachment[],
): Promise<void> {
  const hashes = attachments.map(({ part }) => part.hash);
  const bytes = attachments.map(one => one.bytes.toString('base64'));
  await sql`
    insert into attachment (chat_id, workspace_id, hash, bytes, created_at)
    select ${id}::uuid, ${workspaceId}::uuid, f.hash, decode(f.bytes, 'base64'), now()
    from unnest(${hashes}::text[], ${bytes}::text[]) as f(hash, bytes)
    on conflict do nothing`.execute(unit.tables());
}
