import { Migration } from '@mikro-orm/migrations';

/** Invitations to organizations. */
export class InvitationsMigration extends Migration {
  override up(): void {
    this.addSql(`
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
