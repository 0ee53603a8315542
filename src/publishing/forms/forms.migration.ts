import { Migration } from '@mikro-orm/migrations';

/** Forms that are shared by a link, and their responses. */
export class FormsMigration extends Migration {
  override up(): void {
    this.addSql(`
      create table form (
        id uuid primary key,
        workspace_id uuid not null references workspace on delete cascade deferrable initially deferred,
        path text not null,
        token_hash text not null,
        sealed_token text not null,
        password_hash text,
        expires_at timestamptz,
        paused_at timestamptz,
        -- As its file last said without mistakes.
        definition jsonb not null,
        definition_hash text not null,
        -- Every field that it ever had, in the order in which they came.
        columns jsonb not null,
        -- What is wrong with its file; null: nothing.
        broken text,
        -- Where responses go instead of its output, whose header cannot be read; beside the form.
        csv_file text,
        -- Responses that were removed with their time.
        purged int not null default 0,
        -- Why responses are not in their file.
        trouble text,
        retry_at timestamptz,
        -- A job is to write what was received until it begins.
        queued boolean not null default false,
        created_by uuid not null,
        created_at timestamptz not null,
        updated_at timestamptz not null
      );
      create unique index form_token_hash_key on form (token_hash);
      create unique index form_workspace_id_path on form (workspace_id, path);
      create index form_retry_at on form (retry_at) where retry_at is not null;

      create table form_submission (
        id uuid primary key,
        form_id uuid not null references form on delete cascade,
        -- Made with the page, so that what is sent twice is kept once.
        submission_key text not null,
        data jsonb not null,
        files jsonb not null default '[]',
        -- Of its files, while they wait outside of the workspace.
        bytes bigint not null default 0,
        state text not null check (state in ('received', 'written', 'spam')),
        reason text,
        address_hash text not null,
        received_at timestamptz not null default now(),
        written_at timestamptz
      );
      create unique index form_submission_key on form_submission (form_id, submission_key);
      create index form_submission_form_id on form_submission (form_id, id);
      create index form_submission_waiting on form_submission (form_id, id) where state = 'received';
      create index form_submission_spam on form_submission (received_at) where state = 'spam';
      create index form_submission_written on form_submission (written_at) where state = 'written';

      create table form_used_challenge (
        challenge text primary key,
        expires_at timestamptz not null
      );
    `);
  }
}
