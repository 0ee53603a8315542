import { Injectable } from '@nestjs/common';
import { type Insertable, type RawBuilder, sql } from 'kysely';
import {
  type Actor,
  isReachableBy,
  type OrganizationRole,
  roleOf,
  rolesWith,
  visibleTo,
  type WorkspaceRole,
  workspacesOf,
} from '../../../platform/access/index.js';
import { Database, type Row, type Schema, type UnitOfWork } from '../../../platform/database/index.js';
import { type Page, selectPage } from '../../../platform/dto/index.js';
import { NotFound } from '../../../platform/errors/index.js';
import { defineTopic, Topics } from '../../../platform/topics/index.js';
import type { ListOfWorkspace } from '../../../workspaces/core/index.js';
import type { GiverStanding } from '../../exposure/index.js';
import type { FieldType, FormDefinition, FormField } from '../file/index.js';

/** A field that a form has, or had. */
export interface FormColumn {
  readonly id: string;
  readonly label: string;
  readonly type: FieldType;
}

declare global {
  interface ColumnTypes {
    'form.definition': FormDefinition;
    'form.columns': FormColumn[];
  }
}

type Queries = Pick<Database, 'tables'>;

/** A form has changed: its row, not its file. */
export const formTopic = defineTopic('form');

/** A form with its workspace, and what decides whether it still stands. */
export interface FormRow extends Row<'form'>, GiverStanding {
  readonly workspace_number: number;
  readonly workspace_name: string;
  readonly organization_id: string;
}

/** A form, and who asks for it. */
export interface AskedFormRow extends FormRow {
  readonly organization_role: OrganizationRole;
  /** null where they do not see the workspace. */
  readonly role: WorkspaceRole | null;
  readonly received: number;
  readonly waiting: number;
  readonly spam: number;
}

export type FormChanges = Partial<
  Pick<
    Row<'form'>,
    | 'path'
    | 'token_hash'
    | 'sealed_token'
    | 'password_hash'
    | 'expires_at'
    | 'paused_at'
    | 'csv_file'
    | 'trouble'
    | 'retry_at'
  >
>;

/** What is known of the file of a form. */
export interface FileState {
  readonly definition: FormDefinition;
  readonly hash: string;
}

const noSuchForm = () => new NotFound('No such form');

@Injectable()
export class FormsStore {
  constructor(
    private readonly database: Database,
    private readonly topics: Topics,
  ) {}

  findByTokenHash(hash: string): Promise<FormRow | undefined> {
    return this.forms(this.database).where('f.token_hash', '=', hash).executeTakeFirst();
  }

  find(id: string, within: Queries = this.database): Promise<FormRow | undefined> {
    return this.forms(within).where('f.id', '=', id).executeTakeFirst();
  }

  /** The form with who asks, if they are in its organization and their credential reaches that far; else 404. */
  async require(actor: Actor, id: string, within: Queries = this.database): Promise<AskedFormRow> {
    const row = await this.asked(actor, within).where('f.id', '=', id).executeTakeFirst();
    if (!row) throw noSuchForm();
    return row;
  }

  /** Forms of a workspace that the caller sees, oldest first. */
  list(actor: Actor, { workspace_id, ...page }: ListOfWorkspace): Promise<Page<AskedFormRow>> {
    const all = this.asked(actor, this.database, visibleTo(actor));
    return selectPage(all.where('f.workspace_id', '=', workspace_id), page, { by: 'f.id' });
  }

  /** Those of one organization that the caller may end; with `all`, also in workspaces that they do not see. */
  listOfOrganization(
    actor: Actor,
    filter: { organizationId: string; all: boolean; after?: string; limit: number },
  ): Promise<AskedFormRow[]> {
    const query = filter.all
      ? this.asked(actor, this.database).where(isReachableBy(actor))
      : this.asked(actor, this.database, visibleTo(actor)).where(
          sql.ref('w.role'),
          'in',
          rolesWith('form.manage'),
        );
    const ofOrganization = query.where('w.organization_id', '=', filter.organizationId);
    return (filter.after ? ofOrganization.where('f.id', '>', filter.after) : ofOrganization)
      .orderBy('f.id')
      .limit(filter.limit)
      .execute();
  }

  async count(unit: UnitOfWork, workspaceId: string): Promise<number> {
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from form where workspace_id = ${workspaceId}`.execute(unit.tables());
    return rows[0]?.count ?? 0;
  }

  async idAt(within: Queries, workspaceId: string, path: string): Promise<string | undefined> {
    const query = within.tables().selectFrom('form').select('id').where('workspace_id', '=', workspaceId);
    return (await query.where('path', '=', path).executeTakeFirst())?.id;
  }

  async add(
    unit: UnitOfWork,
    row: Omit<
      Insertable<Schema['form']>,
      'created_at' | 'updated_at' | 'definition' | 'definition_hash' | 'columns'
    >,
    { definition, hash }: FileState,
  ): Promise<void> {
    const now = new Date();
    await unit
      .tables()
      .insertInto('form')
      .values({
        ...row,
        definition: JSON.stringify(definition),
        definition_hash: hash,
        columns: JSON.stringify(withColumnsOf([], definition)),
        created_at: now,
        updated_at: now,
      } as Insertable<Schema['form']>)
      .execute();
  }

  async update(unit: UnitOfWork, id: string, changes: FormChanges): Promise<void> {
    const values = { ...changes, updated_at: new Date().toISOString() };
    const query = unit.tables().updateTable('form').set(values).where('id', '=', id);
    if ((await query.executeTakeFirst()).numUpdatedRows === 0n) throw noSuchForm();
    await this.topics.publishWithCommit(unit, formTopic(id));
  }

  async remove(unit: UnitOfWork, id: string): Promise<void> {
    const query = unit.tables().deleteFrom('form').where('id', '=', id);
    if ((await query.executeTakeFirst()).numDeletedRows === 0n) throw noSuchForm();
    await this.topics.publishWithCommit(unit, formTopic(id));
  }

  /** Nobody else changes the form until the transaction ends; undefined where it is gone. */
  async lock(unit: UnitOfWork, id: string): Promise<FormRow | undefined> {
    await sql`select from form where id = ${id} for no key update`.execute(unit.tables());
    return this.find(id, unit);
  }

  /** What its file says now; its columns are added to those that it had. Harmless when it is said twice. */
  async learn(unit: UnitOfWork, id: string, { definition, hash }: FileState): Promise<void> {
    const form = await this.lock(unit, id);
    if (!form || (form.definition_hash === hash && form.broken === null)) return;
    const columns = withColumnsOf(form.columns, definition);
    await sql`
      update form set definition = ${JSON.stringify(definition)}::jsonb, definition_hash = ${hash},
        columns = ${JSON.stringify(columns)}::jsonb, broken = null, updated_at = now(),
        csv_file = case when definition->>'output' is not distinct from ${definition.output} then csv_file end
      where id = ${id}`.execute(unit.tables());
    await this.topics.publishWithCommit(unit, formTopic(id));
  }

  /** Whether it was not known to be broken before. */
  async breaks(unit: UnitOfWork, id: string, problem: string): Promise<boolean> {
    const { rows } = await sql`
      with before as (select id, broken from form where id = ${id} for no key update)
      update form f set broken = ${problem}, updated_at = now() from before b
      where f.id = b.id and f.broken is distinct from ${problem} returning f.id
      `.execute(unit.tables());
    if (rows.length > 0) await this.topics.publishWithCommit(unit, formTopic(id));
    return rows.length > 0;
  }

  private forms(within: Queries, workspaces: RawBuilder<Row<'workspace'>> = sql`workspace`) {
    return within
      .tables()
      .selectFrom('form as f')
      .innerJoin(workspaces.as('w'), 'w.id', 'f.workspace_id')
      .selectAll('f')
      .select([
        'w.number as workspace_number',
        'w.name as workspace_name',
        'w.organization_id',
        'w.features_off',
      ])
      .select(roleOf(sql.ref('f.created_by')).as('giver_role'))
      .$castTo<FormRow>();
  }

  private asked(actor: Actor, within: Queries, workspaces = workspacesOf<Row<'workspace'>>(actor)) {
    const counted = (state: RawBuilder<unknown>) => sql<number>`
      (select count(*)::int from form_submission s where s.form_id = f.id and ${state})`;
    return this.forms(within, workspaces)
      .select([sql.ref('w.role').as('role'), sql.ref('w.organization_role').as('organization_role')])
      .select([
        counted(sql`s.state <> 'spam'`).as('received'),
        counted(sql`s.state = 'received'`).as('waiting'),
        counted(sql`s.state = 'spam'`).as('spam'),
      ])
      .$castTo<AskedFormRow>();
  }
}

/** The columns that were, as they are called now, and then those that are new. */
function withColumnsOf(
  before: readonly FormColumn[],
  { fields }: Pick<FormDefinition, 'fields'>,
): FormColumn[] {
  const now = new Map(
    fields.filter(({ type }) => type !== 'heading').map(field => [field.id, columnOf(field)]),
  );
  const kept = before.map(column => now.get(column.id) ?? column);
  const known = new Set(kept.map(({ id }) => id));
  return [...kept, ...[...now.values()].filter(({ id }) => !known.has(id))];
}

const columnOf = ({ id, label, type }: FormField): FormColumn => ({ id, label, type });
