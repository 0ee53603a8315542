import { Migration } from '@mikro-orm/migrations';

/** Questions that agents ask people while a run waits. */
export class QuestionsMigration extends Migration {
  override up(): void {
    this.addSql(`
      create table question (
        id uuid primary key,
        organization_id uuid not null,
        workspace_id uuid,
        chat_id uuid not null,
        run_id uuid not null references run on delete cascade,
        step int not null,
        position int not null,
        call_id text not null,
        question text not null,
        choices jsonb not null,
        multiple boolean not null,
        allow_text boolean not null,
        asked_of uuid not null,
        status text not null check (status in ('pending', 'answered', 'expired', 'cancelled')),
        answer jsonb,
        answered_by uuid,
        answered_at timestamptz,
        expires_at timestamptz not null,
        created_at timestamptz not null,
        reminded_at timestamptz,
        unique (run_id, step, "position")
      );
      create index question_chat_id on question (chat_id, id);
      create index question_workspace_id on question (workspace_id, id);
      create index question_asked_of on question (asked_of, id);
      create index question_deadline on question (expires_at) where status = 'pending';
    `);
  }
}
