import { Migration } from '@mikro-orm/migrations';

/** An operation is of any kind: what only copies of workspaces have moves into its input, its progress and its result. */
export class GenericOperations extends Migration {
  override up(): void {
    this.addSql(`
      alter table operation rename column status to state;
      alter table operation rename column source_id to subject_id;
      alter table operation
        add column input jsonb not null default '{}',
        add column progress jsonb not null default '{}',
        add column result jsonb;
      update operation set
        input = jsonb_build_object('target_id', target_id, 'visibility', visibility),
        progress = jsonb_build_object('done', done, 'total', total, 'bytes_done', bytes_done,
          'bytes_total', bytes_total, 'skipped', skipped),
        result = case when state = 'completed' then jsonb_build_object('workspace_id', target_id) end;
      alter table operation
        drop column target_id,
        drop column visibility,
        drop column done,
        drop column total,
        drop column bytes_done,
        drop column bytes_total,
        drop column skipped;
    `);
  }
}
