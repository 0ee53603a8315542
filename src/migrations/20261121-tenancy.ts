import { Migration } from '@mikro-orm/migrations';

/** Service accounts, invitations, and membership as one question for people and service accounts alike. */
export class Tenancy extends Migration {
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

      alter table api_key alter column user_id drop not null;
      alter table api_key add column service_account_id uuid
        references service_account on delete cascade deferrable initially deferred;
      alter table api_key add column created_by uuid not null;
      -- The key that took its place, while this one still works for a while.
      alter table api_key add column replaced_by uuid;
      alter table api_key add check ((user_id is null) <> (service_account_id is null));
      create index api_key_service_account_id on api_key (service_account_id, id);
      create index api_key_organization_id on api_key (organization_id);

      -- A workspace has people and service accounts as members.
      alter table workspace_member drop constraint workspace_member_user_id_fkey;
      alter table workspace_member rename column user_id to principal_id;
      alter index workspace_member_user_id rename to workspace_member_principal_id;

      create function lower_role(a text, b text) returns text language sql immutable parallel safe as $$
        select case when array_position(array['owner', 'admin', 'member', 'guest'], a)
          >= array_position(array['owner', 'admin', 'member', 'guest'], b) then a else b end
      $$;

      -- Who is in an organization, with the role they have right now: a service account never more than its sponsor,
      -- and nothing at all once the sponsor has left.
      create view membership as
        select organization_id, user_id as principal_id, role from organization_member
        union all
        select s.organization_id, s.id, lower_role(s.role, m.role)
        from service_account s
        join organization_member m on m.organization_id = s.organization_id and m.user_id = s.sponsor_id;

      create table invitation (
        id uuid primary key,
        organization_id uuid not null references organization on delete cascade deferrable initially deferred,
        email text not null,
        role text not null check (role in ('owner', 'admin', 'member', 'guest')),
        token_hash text not null,
        status text not null check (status in ('pending', 'accepted', 'declined', 'revoked')),
        invited_by uuid not null,
        accepted_by uuid,
        created_at timestamptz not null,
        updated_at timestamptz not null,
        expires_at timestamptz not null
      );
      create unique index invitation_token_hash_key on invitation (token_hash);
      create unique index invitation_one_pending on invitation (organization_id, email) where status = 'pending';
      create index invitation_organization_id on invitation (organization_id, id);
    `);
  }
}
