import { Migration } from '@mikro-orm/migrations';

/** OAuth flows that people have begun at a provider. */
export class FlowsMigration extends Migration {
  override up(): void {
    this.addSql(`
      create table oauth_flow (
        id uuid primary key,
        -- What it is for, and the id of that.
        kind text not null,
        subject_id uuid not null,
        organization_id uuid not null references organization on delete cascade,
        -- Who began it, and the one who may finish it.
        user_id uuid not null references "user" on delete cascade,
        -- Of the address that it begins at.
        start_hash text not null unique,
        -- Of the state that the provider sends back, and the browser that was sent there.
        state_hash text unique,
        browser text,
        -- Sealed: the request, the verifier.
        details bytea not null,
        -- Sealed: what waits for the person's word.
        held bytea,
        outcome jsonb,
        expires_at timestamptz not null,
        consumed_at timestamptz,
        created_at timestamptz not null
      );
      create index oauth_flow_subject_id on oauth_flow (subject_id);
      create index oauth_flow_organization_id on oauth_flow (organization_id);
      create index oauth_flow_user_id on oauth_flow (user_id);
      create index oauth_flow_expires_at on oauth_flow (expires_at);
    `);
  }
}
