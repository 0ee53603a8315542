import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { storableText } from '#libs/fields/index.js';
import { Database } from '../../../platform/database/index.js';
import { Topics } from '../../../platform/topics/index.js';
import { type BuildAttempt, versionTopic } from './versions.store.js';

export interface LogLine {
  readonly id: number;
  readonly stream: 'stdout' | 'stderr' | 'system';
  readonly text: string;
  readonly created_at: string;
}

@Injectable()
export class BuildLogStore {
  constructor(
    private readonly database: Database,
    private readonly topics: Topics,
  ) {}

  /** Keeps order. Adds nothing if the attempt is outdated. */
  async append(
    { id, attempt }: BuildAttempt,
    pieces: readonly Pick<LogLine, 'stream' | 'text'>[],
  ): Promise<void> {
    const streams = pieces.map(({ stream }) => stream);
    const texts = pieces.map(({ text }) => storableText(text));
    await sql`
      insert into site_version_log (version_id, id, stream, text, created_at)
      select ${id}, coalesce((select max(l.id) from site_version_log l where l.version_id = ${id}), 0) + n, stream, text, now()
      from unnest(${streams}::text[], ${texts}::text[]) with ordinality as piece(stream, text, n)
      where exists (select from site_version v where v.id = ${id} and v.attempt = ${attempt} for key share)`.execute(
      this.database.tables(),
    );
    this.topics.publish(versionTopic(id));
  }

  async read(versionId: string, after: number, limit: number): Promise<LogLine[]> {
    const { rows } = await sql<LogLine>`
      select id, stream, text, created_at from site_version_log
      where version_id = ${versionId} and id > ${after} order by id limit ${limit}`.execute(
      this.database.tables(),
    );
    return rows;
  }

  /** 0 without lines. */
  async newest(versionId: string): Promise<number> {
    const { rows } = await sql<{ id: number }>`
      select coalesce(max(id), 0) as id from site_version_log where version_id = ${versionId}`.execute(
      this.database.tables(),
    );
    return rows[0]?.id ?? 0;
  }
}
