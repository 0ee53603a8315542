import { Migration } from '@mikro-orm/migrations';

/** The audit log. It has no foreign keys: rows outlive what they name. */
export class AuditMigration extends Migration {
  override up(): void {
    this.addSql(`
      create table audit_entry (
        id uuid primary key,
        time timestamptz(3) not null,
        actor_type text,
        actor_id uuid,
        actor_name text,
        on_behalf_of_id uuid,
        credential_type text,
        credential_id text,
        action text not null,
        target_type text not null,
        target_id text not null,
        organization_id uuid,
        workspace_id uuid,
        details jsonb not null,
        address text,
        user_agent text,
        request_id text
      );
      create index audit_entry_organization_id on audit_entry (organization_id, time, id);
      create index audit_entry_actor_id on audit_entry (organization_id, actor_id, time, id);
      create index audit_entry_action on audit_entry (organization_id, action, time, id);
      create index audit_entry_target_id on audit_entry (organization_id, target_id, time, id);

      create function refuse_audit_change() returns trigger language plpgsql as $$
      begin
        raise exception 'The audit log is append-only: % refused', tg_op using errcode = 'insufficient_privilege';
      end $$;
      create trigger audit_entry_append_only before update or delete on audit_entry
        for each row execute function refuse_audit_change();
      create trigger audit_entry_no_truncate before truncate on audit_entry
        for each statement execute function refuse_audit_change();
    `);
  }
}
