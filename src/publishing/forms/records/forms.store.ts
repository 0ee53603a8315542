import { Injectable } from '@nestjs/common';
import { type AliasedRawBuilder, type Insertable, type RawBuilder, sql } from 'kysely';
import { Config } from '../../../platform/config/index.js';
import { Database, type Row, type Schema, type UnitOfWork } from '../../../platform/database/index.js';
import { Conflict } from '../../../platform/errors/index.js';
import { defineTopic, Topics } from '../../../platform/topics/index.js';
import { type Asker, type LinkRow, OpenLink, PublicLinksStore } from '../../exposure/index.js';
import type { FieldType, FormDefinition, FormField } from '../file/form-definition.js';

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
export interface FormRow extends Row<'form'>, Omit<LinkRow, keyof Row<'form'>> {}

/** A form, and who asks for it. */
export interface AskedFormRow extends FormRow, Asker {
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

export const FORM_LINK = new OpenLink<FormRow>(
  { name: 'form', noun: 'form', needs: () => 'form.share' },
  { give: 'form.share', end: 'form.manage' },
  { prefix: 'f', noun: 'form', failure: 'This was not sent' },
);

@Injectable()
export class FormsStore extends PublicLinksStore<FormRow, AskedFormRow> {
  protected readonly table = 'form';
  protected readonly link = FORM_LINK;

  constructor(
    database: Database,
    private readonly config: Config,
    private readonly topics: Topics,
  ) {
    super(database);
  }

  /** 409 where the workspace has as many forms as it may, or the file is shared already. */
  async requireRoom(unit: UnitOfWork, workspaceId: string, path: string): Promise<void> {
    await this.requireFree(unit, workspaceId, path);
    const { forms: most } = this.config.workspaceLimits;
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from form where workspace_id = ${workspaceId}`.execute(unit.tables());
    if ((rows[0]?.count ?? 0) >= most)
      throw new Conflict(`The workspace has ${most} forms, as many as it may; delete one`);
  }

  /** 409 where the file is shared already. */
  async requireFree(unit: UnitOfWork, workspaceId: string, path: string): Promise<void> {
    const other = await this.idAt(unit, workspaceId, path);
    if (other) throw new Conflict(`The file is shared already, as the form ${other}; change that one`);
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
        columns: JSON.stringify(mergeColumns([], definition)),
        created_at: now,
        updated_at: now,
      } as Insertable<Schema['form']>)
      .execute();
  }

  async update(unit: UnitOfWork, id: string, changes: FormChanges): Promise<void> {
    const values = { ...changes, updated_at: new Date().toISOString() };
    const query = unit.tables().updateTable('form').set(values).where('id', '=', id);
    if ((await query.executeTakeFirst()).numUpdatedRows === 0n) throw this.link.missing();
    await this.topics.publishWithCommit(unit, formTopic(id));
  }

  override async remove(unit: UnitOfWork, id: string): Promise<void> {
    await super.remove(unit, id);
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
    const columns = mergeColumns(form.columns, definition);
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

  protected override counts(): AliasedRawBuilder<number, string>[] {
    const counted = (state: RawBuilder<unknown>) => sql<number>`
      (select count(*)::int from form_submission s where s.form_id = l.id and ${state})`;
    return [
      counted(sql`s.state <> 'spam'`).as('received'),
      counted(sql`s.state = 'received'`).as('waiting'),
      counted(sql`s.state = 'spam'`).as('spam'),
    ];
  }
}

/** The columns that were, as they are called now, and then those that are new. */
function mergeColumns(
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
