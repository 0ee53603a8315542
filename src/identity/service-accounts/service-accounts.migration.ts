import { Migration } from '@mikro-orm/migrations';

/** Service accounts, and membership as one question for people and service accounts. */
export class ServiceAccountsMigration extends Migration {
  override up(): void {
    this.addSql(`
      create table service_account (
        id uuid primary key,
        organization_id uuid not null references organization on delete cascade deferrable initially deferred,
        name text not null,
        role text not null check (role in ('owner', 'admin', 'member', 'guest')),
        sponsor_id uuid not null,
        created_by uuid not null,
        created_at timestamptz not null,
        updated_at timestamptz not null
      );
      create index service_account_organization_id on service_account (organization_id, id);
      create index service_account_sponsor_id on service_account (sponsor_id);

      create function lower_role(a text, b text) returns text language sql immutable parallel safe as $$
        select case when array_position(array['owner', 'admin', 'member', 'guest'], a)
          >= array_position(array['owner', 'admin', 'member', 'guest'], b) then a else b end
      $$;

      -- Members of an organization with their role. A service account has at most the role of its sponsor, and none once
      -- the sponsor has left.
      create view membership as
        select organization_id, user_id as principal_id, role from organization_member
        union all
        select s.organization_id, s.id, lower_role(s.role, m.role)
        from service_account s
        join organization_member m on m.organization_id = s.organization_id and m.user_id = s.sponsor_id;

      create function tell_of_principal() returns trigger language plpgsql as $$
      declare
        principal uuid := (to_jsonb(old) ->> tg_argv[0])::uuid;
      begin
        perform notify_topic('access:' || principal);
        perform notify_topic('access:' || id) from service_account where sponsor_id = principal;
        return null;
      end $$;
      create trigger member_changed_told after delete or update of role on organization_member
        for each row execute function tell_of_principal('user_id');
      create trigger service_account_changed_told after delete or update of role on service_account
        for each row execute function tell_of_principal('id');
    `);
  }
}
