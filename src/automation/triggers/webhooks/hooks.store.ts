import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { GatheredWork } from '#libs/gathered-work/index.js';
import {
  type Actor,
  isReachableBy,
  roleAllows,
  visibleTo,
  WORKSPACE_ROLES,
  type WorkspacePermission,
  workspacesOf,
} from '../../../platform/access/index.js';
import { Subject } from '../../../platform/actions/index.js';
import { Database, type Row } from '../../../platform/database/index.js';
import { NotFound, unseenAs } from '../../../platform/errors/index.js';
import type { ExposureQuery } from '../../../publishing/exposure/index.js';
import { WorkspacesStore } from '../../../workspaces/core/index.js';
import type { TriggerRow } from '../../automation/index.js';

/** A webhook that was found by its address. */
export type Hook = Pick<TriggerRow, 'id' | 'deployment_id' | 'config' | 'secrets'> & {
  readonly state: 'live' | 'paused' | 'stopped';
  /** By the clock of the database. */
  readonly found_at: string;
};

/** A webhook with the deployment that it starts. */
export interface OpenHook {
  readonly id: string;
  readonly deployment_id: string;
  readonly organization_id: string;
  readonly workspace_id: string;
  readonly workspace_name: string;
  readonly file_path: string;
  readonly verify: string;
  readonly created_by: string;
  readonly created_at: string;
}

const MAX_FOUND = 50;

/** Finds webhooks by their addresses. */
@Injectable()
export class HooksStore {
  /** Those that are looked for while others are found are found together. */
  private readonly found = new GatheredWork<string, Hook | undefined>((_, hashes) => this.findAll(hashes), {
    maxItems: MAX_FOUND,
    isAfterTurn: true,
  });

  constructor(
    private readonly database: Database,
    private readonly workspaces: WorkspacesStore,
  ) {}

  find(tokenHash: string): Promise<Hook | undefined> {
    return this.found.do('', tokenHash);
  }

  private async findAll(hashes: readonly string[]): Promise<(Hook | undefined)[]> {
    const { rows } = await sql<Hook & { hash: string }>`
      select asked.hash, t.id, t.deployment_id, t.config, t.secrets, d.state, now() as found_at
      from unnest(${[...new Set(hashes)]}::text[]) as asked (hash)
      join automation_trigger t on t.token_hash = asked.hash or (t.old_token_hash = asked.hash and t.old_token_until > now())
      join automation_deployment d on d.id = t.deployment_id
      where t.kind = 'webhook' and t.position is not null`.execute(this.database.tables());
    const hooks = new Map(rows.map(({ hash, ...hook }) => [hash, hook]));
    return hashes.map(hash => hooks.get(hash));
  }

  /** 404 where the caller does not see its workspace, 403 where their role is too low. */
  @Subject('automation_trigger', 'workspace', ({ organization_id, workspace_id }: OpenHook) => ({
    organization_id,
    workspace_id,
  }))
  async require(actor: Actor, permission: WorkspacePermission, id: string): Promise<OpenHook> {
    const { rows } = await sql<OpenHook>`
      select ${HOOK} from ${HOOKS} join workspace w on w.id = d.workspace_id
      where t.id = ${id} and t.kind = 'webhook'`.execute(this.database.tables());
    const [hook] = rows;
    if (!hook) throw new NotFound('No such webhook');
    await unseenAs('No such webhook', this.workspaces.require(actor, permission, hook.workspace_id));
    return hook;
  }

  /** Those of an organization that can be reached, by their ids: all, or those that the caller may end. */
  async listOpen(actor: Actor, { organizationId, all, after, limit }: ExposureQuery): Promise<OpenHook[]> {
    const workspaces = all
      ? sql`(select * from ${workspacesOf(actor)} w where ${isReachableBy(actor)})`
      : visibleTo<Row<'workspace'>>(actor);
    const roles = WORKSPACE_ROLES.filter(role => roleAllows(role, 'automation.manage'));
    const { rows } = await sql<OpenHook>`
      select ${HOOK} from ${HOOKS} join ${workspaces} w on w.id = d.workspace_id
      where w.organization_id = ${organizationId} and t.kind = 'webhook' and t.token_hash is not null
        and t.position is not null and d.state <> 'stopped' and t.id > ${after ?? NIL}
        and ${all ? sql`true` : sql`w.role = any(${roles}::text[])`}
      order by t.id limit ${limit}`.execute(this.database.tables());
    return rows;
  }
}

const NIL = '00000000-0000-0000-0000-000000000000';
const HOOKS = sql`automation_trigger t join automation_deployment d on d.id = t.deployment_id`;
const HOOK = sql`t.id, t.deployment_id, d.organization_id, d.workspace_id, w.name as workspace_name, d.file_path,
  t.config ->> 'verify' as verify, d.created_by, t.created_at`;
