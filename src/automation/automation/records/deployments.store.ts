import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { type Actor, visibleTo, type WorkspacePermission } from '../../../platform/access/index.js';
import { Subject } from '../../../platform/actions/index.js';
import { Database, iso, newId, type Row, type UnitOfWork } from '../../../platform/database/index.js';
import { type Page, type PageInput, selectPage } from '../../../platform/dto/index.js';
import { NotFound, unseenAs } from '../../../platform/errors/index.js';
import { Topics } from '../../../platform/topics/index.js';
import { WorkspacesStore } from '../../../workspaces/core/index.js';
import type { AutomationDefinition, TriggerDefinition } from '../file/automation-definition.js';
import { recordDeploymentEvent } from './automation-events.store.js';
import type { DeploymentState, Pinned, PinnedFile } from './automation-states.js';

type Queries = Pick<Database, 'tables'>;

export type DeploymentRow = Row<'automation_deployment'>;
export type VersionRow = Row<'automation_version'>;
export type TriggerRow = Row<'automation_trigger'>;

/** A version as it is about to be kept. */
export interface NewVersion {
  readonly digest: string;
  readonly files: readonly (PinnedFile & { readonly content: Buffer })[];
  readonly pinned: Pick<Pinned, 'definition' | 'agent'>;
}

/** A deployment with what it does now. */
export interface LiveDeployment {
  readonly deployment: DeploymentRow;
  /** undefined where its version is not there any more. */
  readonly definition: AutomationDefinition | undefined;
}

/** Deployments and their versions. */
@Injectable()
export class DeploymentsStore {
  constructor(
    private readonly database: Database,
    private readonly workspaces: WorkspacesStore,
    private readonly topics: Topics,
  ) {}

  find(id: string, within: Queries = this.database): Promise<DeploymentRow | undefined> {
    return within
      .tables()
      .selectFrom('automation_deployment')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirst();
  }

  findAt(
    workspaceId: string,
    filePath: string,
    within: Queries = this.database,
  ): Promise<DeploymentRow | undefined> {
    return within
      .tables()
      .selectFrom('automation_deployment')
      .selectAll()
      .where('workspace_id', '=', workspaceId)
      .where('file_path', '=', filePath)
      .executeTakeFirst();
  }

  /** 404 where the caller does not see it, 403 where their role is too low. */
  @Subject('deployment', 'workspace', ({ organization_id, workspace_id }: DeploymentRow) => ({
    organization_id,
    workspace_id,
  }))
  async require(actor: Actor, permission: WorkspacePermission, id: string): Promise<DeploymentRow> {
    const row = await this.find(id);
    if (!row) throw new NotFound('No such deployment');
    await unseenAs('No such deployment', this.workspaces.require(actor, permission, row.workspace_id));
    return row;
  }

  /** No other transaction changes it until this one ends. */
  async lock(unit: UnitOfWork, id: string): Promise<DeploymentRow> {
    const row = await unit
      .tables()
      .selectFrom('automation_deployment')
      .selectAll()
      .where('id', '=', id)
      .forNoKeyUpdate()
      .executeTakeFirst();
    if (!row) throw new NotFound('No such deployment');
    return row;
  }

  /**
   * As {@link lock}, of several, with the definitions of their live versions. `waits: false` leaves out those that others work
   * on; of more than one at a time, no other way is sure to end.
   */
  async lockLive(
    unit: UnitOfWork,
    ids: readonly string[],
    { waits }: { readonly waits: boolean },
  ): Promise<LiveDeployment[]> {
    const { rows } = await sql<DeploymentRow & { definition: AutomationDefinition | null }>`
      select d.*, v.definition from automation_deployment d
      left join automation_version v on v.deployment_id = d.id and v.number = d.version
      where d.id = any(${[...ids]}::uuid[])
      order by d.id for no key update of d ${waits ? sql`` : sql`skip locked`}`.execute(unit.tables());
    // Of one that was deployed again while this waited for it, the version was looked up too early.
    const late = rows.filter(({ definition }) => definition === null);
    const definitions = await this.liveDefinitions(unit, late);
    return rows.map(({ definition, ...deployment }) => ({
      deployment,
      definition: definition ?? definitions.get(deployment.id),
    }));
  }

  /** As {@link lock}, of the deployment of a file, where there is one. */
  async lockAt(unit: UnitOfWork, workspaceId: string, filePath: string): Promise<void> {
    await sql`select from automation_deployment
      where workspace_id = ${workspaceId} and file_path = ${filePath} for no key update`.execute(
      unit.tables(),
    );
  }

  /** Of workspaces that the caller sees, oldest first. */
  list(
    actor: Actor,
    { workspace_id, state, ...page }: PageInput & { workspace_id?: string; state?: DeploymentState },
  ): Promise<Page<DeploymentRow>> {
    let query = this.database
      .tables()
      .selectFrom('automation_deployment as d')
      .innerJoin(visibleTo<Row<'workspace'>>(actor).as('w'), 'w.id', 'd.workspace_id')
      .selectAll('d');
    if (workspace_id) query = query.where('d.workspace_id', '=', workspace_id);
    if (state) query = query.where('d.state', '=', state);
    return selectPage(query, page, { by: 'd.id' });
  }

  /** Makes the deployment of a file, or a further version of it, live. */
  async deploy(
    unit: UnitOfWork,
    place: { organization_id: string; workspace_id: string; file_path: string },
    { deployedBy, acting }: { readonly deployedBy: Actor; readonly acting: Actor },
    version: NewVersion,
  ): Promise<DeploymentRow> {
    const stored = JSON.stringify(standing(acting));
    const { rows } = await sql<DeploymentRow>`
      insert into automation_deployment as d (id, organization_id, workspace_id, file_path, state, version, last_version, actor,
        created_by, created_at, updated_at)
      values (${newId()}, ${place.organization_id}, ${place.workspace_id}, ${place.file_path}, 'live', 1, 1, ${stored}::jsonb,
        ${deployedBy.id}, now(), now())
      on conflict (workspace_id, file_path) do update
      set state = 'live', paused_reason = null, version = d.last_version + 1, last_version = d.last_version + 1,
        actor = excluded.actor, failures_in_row = 0, alerted_at = null, drift = 'none',
        updated_at = now()
      returning *`.execute(unit.tables());
    const [row] = rows as [DeploymentRow];
    await recordDeploymentEvent(unit, this.topics, 'deployed', row);
    const { files, digest, pinned } = version;
    await unit
      .tables()
      .insertInto('automation_version')
      .values({
        deployment_id: row.id,
        number: row.version,
        digest,
        files: JSON.stringify(files.map(({ content: _, ...file }) => file)),
        definition: JSON.stringify(pinned.definition),
        agent: pinned.agent && JSON.stringify(pinned.agent),
        deployed_by: deployedBy.id,
        created_at: new Date(),
      })
      .execute();
    for (const { sha256, content } of files)
      await sql`insert into automation_blob (deployment_id, sha256, content) values (${row.id}, ${sha256}, ${content})
        on conflict do nothing`.execute(unit.tables());
    return row;
  }

  async change(
    unit: UnitOfWork,
    id: string,
    changes: Partial<
      Pick<DeploymentRow, 'state' | 'paused_reason' | 'version' | 'failures_in_row' | 'chat_id' | 'silent_at'>
    > & { actor?: Actor },
  ): Promise<DeploymentRow> {
    const { actor, ...others } = changes;
    const changed = await unit
      .tables()
      .updateTable('automation_deployment')
      .set({
        ...others,
        ...(actor && { actor: sql<Actor>`${JSON.stringify(standing(actor))}::jsonb` }),
        updated_at: new Date().toISOString(),
      })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow();
    const what = changes.version === undefined ? changes.state : 'deployed';
    if (what !== undefined)
      await recordDeploymentEvent(unit, this.topics, what === 'live' ? 'resumed' : what, changed);
    return changed;
  }

  /** Nothing but people starts it from now on; what its triggers would have fired for meanwhile is not made up for. */
  async halt(
    unit: UnitOfWork,
    id: string,
    state: 'paused' | 'stopped',
    reason: string | null,
  ): Promise<DeploymentRow> {
    await unit
      .tables()
      .updateTable('automation_trigger')
      .set({ next_at: null, next_slot: null, cursor: null, since: null, fire_at: null })
      .set({ gathered: null, gathering_since: null })
      .where('deployment_id', '=', id)
      .execute();
    return this.change(unit, id, { state, paused_reason: reason, silent_at: null });
  }

  /** From now on people are told where nothing succeeds for as long as its file says. */
  async watchSilence(unit: UnitOfWork, id: string): Promise<void> {
    await sql`update automation_deployment set silent_at = ${SILENT_AT} where id = ${id}`.execute(
      unit.tables(),
    );
  }

  /** Deployments of which nothing has succeeded for too long, each counted as told of. */
  async takeSilent(unit: UnitOfWork, limit: number): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      update automation_deployment set silent_at = null, alerted_at = now() where id in (
        select id from automation_deployment where silent_at <= now() and state = 'live'
        order by silent_at limit ${limit} for no key update skip locked)
      returning id`.execute(unit.tables());
    return rows.map(({ id }) => id);
  }

  /** Milliseconds until one has been silent for too long. */
  async nextSilent(): Promise<number | undefined> {
    const { rows } = await sql<{ wait: number | null }>`
      select extract(epoch from min(silent_at) - now())::float8 * 1000 as wait from automation_deployment
      where silent_at is not null and state = 'live'`.execute(this.database.tables());
    return rows[0]?.wait ?? undefined;
  }

  /** Workspaces in which something is deployed, whether it is paused or not. */
  async workspacesWithAny(): Promise<string[]> {
    const rows = await this.database
      .tables()
      .selectFrom('automation_deployment')
      .select('workspace_id')
      .distinct()
      .where('state', '<>', 'stopped')
      .execute();
    return rows.map(({ workspace_id }) => workspace_id);
  }

  /** Deployments with files that have changed since that was last looked at, each with the time of the newest change. */
  async touched(limit: number): Promise<{ deployment: DeploymentRow; changedAt: string }[]> {
    const { rows } = await sql<DeploymentRow & { newest: string }>`
      select d.*, c.newest::text as newest
      from automation_deployment d join automation_version v on v.deployment_id = d.id and v.number = d.version,
        lateral (
          select max(c.changed_at) as newest from jsonb_array_elements(v.files) f, workspace_change c
          where md5(c.workspace_id::text || c.path) = md5(d.workspace_id::text || (f ->> 'path'))
            and c.workspace_id = d.workspace_id and c.path = f ->> 'path') c
      where d.state <> 'stopped' and c.newest > d.drift_at
      order by d.id limit ${limit}`.execute(this.database.tables());
    return rows.map(({ newest: changedAt, ...deployment }) => ({ deployment, changedAt }));
  }

  /** Writes down how its files stand; false where another process has, or another version is live by now. */
  async lookedAt(
    unit: UnitOfWork,
    { id, version }: DeploymentRow,
    changedAt: string,
    drift: DeploymentRow['drift'],
  ): Promise<boolean> {
    const { rows } = await sql`
      update automation_deployment set drift_at = ${changedAt}::timestamptz, drift = ${drift}
      where id = ${id} and version = ${version} and drift_at < ${changedAt}::timestamptz returning id`.execute(
      unit.tables(),
    );
    return rows.length > 0;
  }

  /** Whether people are to be notified now that automations start each other: once in an hour. */
  async reportLoops(unit: UnitOfWork, id: string): Promise<boolean> {
    const { rows } = await sql`
      update automation_deployment set loops_reported_at = now()
      where id = ${id} and (loops_reported_at is null or loops_reported_at < now() - interval '1 hour') returning 1`.execute(
      unit.tables(),
    );
    return rows.length > 0;
  }

  /** Counts how a run ended; answers how many have failed in a row. */
  async count(unit: UnitOfWork, id: string, isSuccess: boolean): Promise<DeploymentRow | undefined> {
    const { rows } = await sql<DeploymentRow>`
      update automation_deployment set
        failures_in_row = case when ${isSuccess} then 0 else failures_in_row + 1 end,
        last_success_at = case when ${isSuccess} then now() else last_success_at end,
        alerted_at = case when ${isSuccess} then null else alerted_at end,
        silent_at = case when ${isSuccess} and state = 'live' then ${SILENT_AT} else silent_at end
      where id = ${id} returning *`.execute(unit.tables());
    return rows[0];
  }

  version(id: string, number: number, within: Queries = this.database): Promise<VersionRow | undefined> {
    return within
      .tables()
      .selectFrom('automation_version')
      .selectAll()
      .where('deployment_id', '=', id)
      .where('number', '=', number)
      .executeTakeFirst();
  }

  /** The versions that are live, by the ids of the deployments. */
  async liveDefinitions(
    unit: UnitOfWork,
    deployments: readonly Pick<DeploymentRow, 'id' | 'version'>[],
  ): Promise<ReadonlyMap<string, AutomationDefinition>> {
    if (deployments.length === 0) return new Map();
    const { rows } = await sql<Pick<VersionRow, 'deployment_id' | 'definition'>>`
      select v.deployment_id, v.definition from unnest(${deployments.map(({ id }) => id)}::uuid[],
        ${deployments.map(({ version }) => version)}::int[]) as live (id, version)
      join automation_version v on v.deployment_id = live.id and v.number = live.version`.execute(
      unit.tables(),
    );
    return new Map(rows.map(row => [row.deployment_id, row.definition]));
  }

  /** Newest first. */
  versions(id: string, input: PageInput): Promise<Page<VersionRow>> {
    const versions = this.database.tables().selectFrom('automation_version').selectAll();
    const query = versions.where('deployment_id', '=', id);
    return selectPage(query, input, { by: 'number', kind: 'number', newestFirst: true });
  }

  async content(id: string, sha256: string): Promise<Buffer | undefined> {
    const row = await this.database
      .tables()
      .selectFrom('automation_blob')
      .select('content')
      .where('deployment_id', '=', id)
      .where('sha256', '=', sha256)
      .executeTakeFirst();
    return row?.content;
  }

  /** When a trigger last led to a run, the newest first. */
  async lastFires(triggerId: string, limit: number): Promise<string[]> {
    const rows = await this.database
      .tables()
      .selectFrom('automation_delivery')
      .select('received_at')
      .where('trigger_id', '=', triggerId)
      .where('state', '=', 'accepted')
      .orderBy('id', 'desc')
      .limit(limit)
      .execute();
    return rows.map(({ received_at }) => iso(received_at));
  }

  triggers(id: string, within: Queries = this.database): Promise<TriggerRow[]> {
    return within
      .tables()
      .selectFrom('automation_trigger')
      .selectAll()
      .where('deployment_id', '=', id)
      .where('position', 'is not', null)
      .orderBy('position')
      .execute();
  }

  /**
   * Gives a deployment these triggers. The first of a kind stays the first of it, with its address, its cursor and what came in;
   * those that the file has no more do nothing until it has them again.
   */
  async setTriggers(
    unit: UnitOfWork,
    id: string,
    definitions: readonly TriggerDefinition[],
  ): Promise<{ row: TriggerRow; isNew: boolean; isChanged: boolean }[]> {
    const known = await unit
      .tables()
      .selectFrom('automation_trigger')
      .selectAll()
      .where('deployment_id', '=', id)
      .orderBy(sql`position is null`)
      .orderBy('position')
      .orderBy('created_at')
      .execute();
    await unit
      .tables()
      .updateTable('automation_trigger')
      .set({ position: null, next_at: null, fire_at: null })
      .where('deployment_id', '=', id)
      .execute();
    const left = [...known];
    const set: { row: TriggerRow; isNew: boolean; isChanged: boolean }[] = [];
    for (const [position, config] of definitions.entries()) {
      const at = left.findIndex(({ kind }) => kind === config.kind);
      const [before] = at < 0 ? [] : left.splice(at, 1);
      const row = before
        ? await unit
            .tables()
            .updateTable('automation_trigger')
            .set({ position, config: sql`${JSON.stringify(config)}::jsonb` })
            .where('id', '=', before.id)
            .returningAll()
            .executeTakeFirstOrThrow()
        : await unit
            .tables()
            .insertInto('automation_trigger')
            .values({
              position,
              config: JSON.stringify(config),
              id: newId(),
              deployment_id: id,
              kind: config.kind,
              created_at: new Date(),
            })
            .returningAll()
            .executeTakeFirstOrThrow();
      const isChanged = JSON.stringify(before?.config) !== JSON.stringify(row.config);
      set.push({ row, isNew: !before, isChanged });
    }
    await unit
      .tables()
      .updateTable('automation_trigger')
      .set({ cursor: null, since: null, gathered: null, gathering_since: null })
      .where('deployment_id', '=', id)
      .where('position', 'is', null)
      .execute();
    return set;
  }

  async changeTrigger(unit: UnitOfWork, id: string, changes: TriggerChanges): Promise<void> {
    const { next_at, next_slot, secrets, ...others } = changes;
    await unit
      .tables()
      .updateTable('automation_trigger')
      .set({
        ...others,
        ...(next_at !== undefined && { next_at: next_at?.toISOString() ?? null }),
        ...(secrets !== undefined && { secrets: sql<unknown[]>`${JSON.stringify(secrets)}::jsonb` }),
        ...(next_slot !== undefined && { next_slot: next_slot?.toISOString() ?? null }),
      })
      .where('id', '=', id)
      .execute();
  }
}

/** For whom a deployment acts: what led to its being deployed leads to none of its runs. */
const standing = (actor: Actor): Actor => ({ ...actor, surface: undefined, chain: undefined });
/** When a deployment will have been silent for too long, if nothing succeeds from now on; null: its file does not say. */
const SILENT_AT = sql`now() + make_interval(secs => (
  select (v.definition ->> 'alertAfterSeconds')::float8 from automation_version v
  where v.deployment_id = automation_deployment.id and v.number = automation_deployment.version))`;

export interface TriggerChanges {
  readonly next_at?: Date | null;
  readonly next_slot?: Date | null;
  readonly token_hash?: string | null;
  readonly old_token_hash?: string | null;
  readonly old_token_until?: string;
  readonly secrets?: readonly unknown[];
}
