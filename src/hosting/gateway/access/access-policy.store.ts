import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import {
  type Actor,
  type Feature,
  isReachableBy,
  rolesWith,
  visibleTo,
  workspacesOf,
} from '../../../platform/access/index.js';
import { Database, type Row, type UnitOfWork } from '../../../platform/database/index.js';
import type { ExposureQuery } from '../../../publishing/exposure/index.js';
import { HOSTED } from '../hosts/hosted-kinds.js';
import { type HostedTarget } from '../hosts/hosted-targets.js';
import { type HostedKind } from '../hosts/hosting-domain.js';
import type { AccessMode, AccessPolicy, ExposureLimit, Identity, PublicPreview } from './access-policy.js';

declare global {
  interface ColumnTypes {
    'hosted_access.mode': AccessMode;
    'hosted_access.identity': Identity;
    'hosted_access.public_preview': PublicPreview;
    'hosted_access.versions': 'workspace' | 'same';
    'organization_exposure.max_exposure': ExposureLimit;
  }
}

type Queries = Pick<Database, 'tables'>;
type Target = Pick<HostedTarget, 'kind' | 'id' | 'workspaceId'>;

/** The settings of a policy, without what is derived. */
export type AccessSettings = Omit<AccessPolicy, 'policy_version' | 'max_exposure' | 'sharing_off'>;

/** Policy of targets whose access was never set. */
const DEFAULTS: AccessSettings = {
  mode: 'workspace',
  emails: [],
  password_hash: null,
  link_hash: null,
  sealed_link: null,
  identity: 'id',
  allowed_origins: [],
  public_preview: null,
  versions: 'workspace',
};

type Found = Omit<AccessSettings, 'mode'> & {
  mode: AccessMode | null;
  policy_version: string;
  features_off: Feature[];
  max_exposure: ExposureLimit;
};

@Injectable()
export class AccessPolicyStore {
  constructor(private readonly database: Database) {}

  async find(
    { kind, id, workspaceId }: Target,
    within: Queries = this.database,
    { locked = false } = {},
  ): Promise<AccessPolicy> {
    const { rows } = await sql<Found>`
      select a.mode, a.emails, a.password_hash, a.link_hash, a.sealed_link, a.identity, a.allowed_origins, a.public_preview,
        a.versions, a.policy_version::text, w.features_off, coalesce(o.max_exposure, 'public') as max_exposure
      from workspace w
        left join hosted_access a on a.target_kind = ${kind} and a.target_id = ${id}
        left join organization_exposure o on o.organization_id = w.organization_id
      where w.id = ${workspaceId} ${locked ? sql`for no key update of w` : sql``}`.execute(within.tables());
    const [row] = rows;
    // A workspace that is gone allows nothing.
    if (!row) return { ...DEFAULTS, policy_version: '0', max_exposure: 'org', sharing_off: true };
    const { mode, features_off, max_exposure, ...settings } = row;
    const limits = { max_exposure, sharing_off: features_off.includes('sharing') };
    return mode ? { ...settings, mode, ...limits } : { ...DEFAULTS, policy_version: '0', ...limits };
  }

  /** Ends visits and tickets of the previous policy. */
  async set(unit: UnitOfWork, target: Target, settings: AccessSettings, actorId: string): Promise<void> {
    const { kind, id, workspaceId } = target;
    const { mode, emails, password_hash, link_hash, sealed_link, identity, allowed_origins, versions } =
      settings;
    const preview = settings.public_preview && JSON.stringify(settings.public_preview);
    await sql`
      insert into hosted_access (target_kind, target_id, workspace_id, mode, emails, password_hash, link_hash, sealed_link,
        identity, allowed_origins, public_preview, versions, updated_by)
      values (${kind}, ${id}, ${workspaceId}, ${mode}, ${[...emails]}::text[], ${password_hash}, ${link_hash}, ${sealed_link},
        ${identity}, ${[...allowed_origins]}::text[], ${preview}::jsonb, ${versions}, ${actorId})
      on conflict (target_kind, target_id) do update set mode = excluded.mode, emails = excluded.emails,
        password_hash = excluded.password_hash, link_hash = excluded.link_hash, sealed_link = excluded.sealed_link,
        identity = excluded.identity, allowed_origins = excluded.allowed_origins, public_preview = excluded.public_preview,
        versions = excluded.versions, updated_by = excluded.updated_by, updated_at = now(),
        policy_version = hosted_access.policy_version + 1`.execute(unit.tables());
    await this.endVisits(unit, kind, id);
  }

  async remove(unit: UnitOfWork, kind: HostedKind, id: string): Promise<void> {
    await sql`delete from hosted_access where target_kind = ${kind} and target_id = ${id}`.execute(
      unit.tables(),
    );
    await sql`delete from hosted_token where target_kind = ${kind} and target_id = ${id}`.execute(
      unit.tables(),
    );
    await this.endVisits(unit, kind, id);
  }

  async limitOf(organizationId: string, within: Queries = this.database): Promise<ExposureLimit> {
    const query = within.tables().selectFrom('organization_exposure').select('max_exposure');
    const row = await query.where('organization_id', '=', organizationId).executeTakeFirst();
    return row?.max_exposure ?? 'public';
  }

  async setLimit(
    unit: UnitOfWork,
    organizationId: string,
    limit: ExposureLimit,
    actorId: string,
  ): Promise<void> {
    await sql`
      insert into organization_exposure (organization_id, max_exposure, updated_by)
      values (${organizationId}, ${limit}, ${actorId})
      on conflict (organization_id) do update set max_exposure = excluded.max_exposure, updated_by = excluded.updated_by,
        updated_at = now()`.execute(unit.tables());
  }

  /** Targets open to outsiders that the caller may close; with `all`, those of the whole organization. */
  async listOutward(
    actor: Actor,
    kind: HostedKind,
    { organizationId, all, after, limit }: ExposureQuery,
  ): Promise<OutwardRow[]> {
    const workspaces = all
      ? sql`(select * from ${workspacesOf(actor)} w where ${isReachableBy(actor)})`
      : sql`(select * from ${visibleTo(actor)} v where v.role = any(${rolesWith(HOSTED[kind].open)}::text[]))`;
    const { rows } = await sql<OutwardRow>`
      select a.target_id, a.mode, a.created_at, a.updated_at, a.updated_by, w.id as workspace_id, w.name as workspace_name
      from hosted_access a join ${workspaces} w on w.id = a.workspace_id
      where w.organization_id = ${organizationId} and a.target_kind = ${kind}
        and a.mode in ('restricted', 'link', 'password', 'public')
        and (${after ?? null}::uuid is null or a.target_id > ${after ?? null}::uuid)
      order by a.target_id limit ${limit}`.execute(this.database.tables());
    return rows;
  }

  private async endVisits(unit: UnitOfWork, kind: HostedKind, id: string): Promise<void> {
    await sql`delete from hosted_visit where target_kind = ${kind} and target_id = ${id}`.execute(
      unit.tables(),
    );
    await sql`delete from visit_ticket where target_kind = ${kind} and target_id = ${id}`.execute(
      unit.tables(),
    );
  }
}

export type OutwardRow = Pick<
  Row<'hosted_access'>,
  'target_id' | 'mode' | 'created_at' | 'updated_at' | 'updated_by' | 'workspace_id'
> & { workspace_name: string };
