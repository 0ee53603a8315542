import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Actor } from '../../../platform/access/index.js';
import { Database } from '../../../platform/database/index.js';

const MOST = 80;

/** What to call a client in front of a person: by what was let in, and by what it says of itself. */
@Injectable()
export class ClientNames {
  constructor(private readonly database: Database) {}

  async of({ credential }: Actor, says: string | undefined): Promise<string> {
    const known = await this.known(credential);
    const called = plain(says ?? '');
    if (!known) return called || 'A program with your own sign-in';
    return called && called !== known ? `${known} (it calls itself ${called})` : known;
  }

  private async known({ type, id }: Actor['credential']): Promise<string | undefined> {
    if (type === 'session') return undefined;
    const { rows } = await sql<{ name: string }>`
      select client_name as name from oauth_grant where id::text = ${id}
      union all select 'The API key ' || name from api_key where id::text = ${id}`.execute(
      this.database.tables(),
    );
    return rows[0] && plain(rows[0].name);
  }
}

const plain = (name: string): string =>
  name
    .toWellFormed()
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim()
    .slice(0, MOST);
