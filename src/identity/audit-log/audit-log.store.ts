import { Injectable } from '@nestjs/common';
import { type Actor, isAmong } from '../../platform/access/index.js';
import { Database, iso, type Row } from '../../platform/database/index.js';
import {
  DEFAULT_LIMIT,
  decodeCursor,
  type Page,
  pageOf,
  readInstant,
  toView,
} from '../../platform/dto/index.js';
import { AuditEntryView, type ListAudit } from './audit-log.dto.js';

const FILTERS = ['action', 'actor_id', 'target_type', 'target_id'] as const;

/** What `platform/audit` recorded. */
@Injectable()
export class AuditLogStore {
  constructor(private readonly database: Database) {}

  /** Newest first. */
  async list(actor: Actor, input: ListAudit): Promise<Page<AuditEntryView>> {
    const { limit = DEFAULT_LIMIT, cursor } = input;
    const [time, id] = decodeCursor(cursor, 'time', 'id');
    const query = this.matching(actor, input)
      .orderBy('time', 'desc')
      .orderBy('id', 'desc')
      .limit(limit + 1);
    const page =
      time && id
        ? query.where(({ eb, refTuple, tuple }) => eb(refTuple('time', 'id'), '<', tuple(time, id)))
        : query;
    return pageOf(await page.execute(), limit, entryView, row => [iso(row.time), row.id]);
  }

  /** A credential that is limited to workspaces sees the entries of these alone, and none that belong to no workspace. */
  private matching({ credential }: Actor, input: ListAudit) {
    const { organization_id, from, to } = input;
    let query = this.database
      .tables()
      .selectFrom('audit_entry')
      .selectAll()
      .where('organization_id', '=', organization_id)
      .where(isAmong('workspace_id', credential.workspace_ids));
    for (const name of FILTERS) {
      const value = input[name];
      if (value !== undefined) query = query.where(name, '=', value);
    }
    if (from) query = query.where('time', '>=', readInstant('from', from));
    if (to) query = query.where('time', '<', readInstant('to', to));
    return query;
  }
}

function entryView(row: Row<'audit_entry'>): AuditEntryView {
  return toView(AuditEntryView, row, {
    actor: row.actor_type && row.actor_id ? actorView(row.actor_type, row.actor_id, row.actor_name) : null,
    credential:
      row.credential_type === null ? null : { type: row.credential_type, id: row.credential_id ?? '' },
    target: { type: row.target_type, id: row.target_id },
    organization_id: row.organization_id ?? '',
  });
}

const actorView = (type: string, id: string, name: string | null) => ({ type, id, name: name ?? '' });
