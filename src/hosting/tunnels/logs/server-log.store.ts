import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { storableText } from '#libs/fields/index.js';
import { Database } from '../../../platform/database/index.js';
import { defineTopic, Topics } from '../../../platform/topics/index.js';

export const serverLogTopic = defineTopic('server-log');

export type LogStream = 'stdout' | 'stderr' | 'system';

export interface LogPiece {
  readonly stream: LogStream;
  readonly text: string;
}

export interface LogEntry extends LogPiece {
  readonly id: number;
  readonly created_at: string;
}

/** Older entries are removed when `SLACK_BYTES` more than `KEPT_BYTES` are stored. */
const KEPT_BYTES = 4 * 1024 * 1024;
const SLACK_BYTES = 256 * 1024;

@Injectable()
export class ServerLogStore {
  constructor(
    private readonly database: Database,
    private readonly topics: Topics,
  ) {}

  /** Keeps order. Adds nothing if the server is gone. */
  async append(serverId: string, instanceId: string | null, pieces: readonly LogPiece[]): Promise<void> {
    const streams = pieces.map(({ stream }) => stream);
    const texts = pieces.map(({ text }) => storableText(text));
    const sizes = texts.map(text => Buffer.byteLength(text));
    const total = sizes.reduce((sum, size) => sum + size, 0);
    const { rows } = await sql<{ log_bytes: string }>`
      with advanced as (
        update server set log_last_id = log_last_id + ${pieces.length}, log_bytes = log_bytes + ${total}
        where id = ${serverId} returning log_last_id, log_bytes
      ), added as (
        insert into server_log (server_id, id, instance_id, stream, text, bytes, created_at)
        select ${serverId}, advanced.log_last_id - ${pieces.length} + n, ${instanceId}, stream, text, bytes, now()
        from advanced, unnest(${streams}::text[], ${texts}::text[], ${sizes}::int[])
          with ordinality as piece(stream, text, bytes, n)
      )
      select log_bytes from advanced`.execute(this.database.tables());
    if (Number(rows[0]?.log_bytes ?? 0) > KEPT_BYTES + SLACK_BYTES) await this.trim(serverId);
    this.topics.publish(serverLogTopic(serverId));
  }

  async read(serverId: string, after: number, limit: number): Promise<LogEntry[]> {
    const { rows } = await sql<LogEntry>`
      select id::float8 as id, stream, text, created_at from server_log
      where server_id = ${serverId} and id > ${after} order by id limit ${limit}`.execute(
      this.database.tables(),
    );
    return rows;
  }

  async newest(serverId: string, limit: number): Promise<LogEntry[]> {
    const { rows } = await sql<LogEntry>`
      select id::float8 as id, stream, text, created_at from server_log
      where server_id = ${serverId} order by server_log.id desc limit ${limit}`.execute(
      this.database.tables(),
    );
    return rows.reverse();
  }

  private async trim(serverId: string): Promise<void> {
    await sql`
      with counted as (
        update server set log_bytes = kept.bytes from (
          select coalesce(sum(bytes), 0) as bytes from (
            select bytes, sum(bytes) over (order by id desc) as newer from server_log where server_id = ${serverId}
          ) sized where newer <= ${KEPT_BYTES}
        ) kept where server.id = ${serverId} returning 1
      )
      delete from server_log using counted where server_id = ${serverId} and id <= (
        select max(id) from (
          select id, sum(bytes) over (order by id desc) as newer from server_log where server_id = ${serverId}
        ) sized where newer > ${KEPT_BYTES})`.execute(this.database.tables());
  }
}
