import { Migration } from '@mikro-orm/migrations';

/** Loops: runs in one chat, repeated until their goal is met. */
export class LoopsMigration extends Migration {
  override up(): void {
    this.addSql(`
      create table loop (
        id uuid primary key,
        organization_id uuid not null,
        workspace_id uuid not null references workspace on delete cascade deferrable initially deferred,
        chat_id uuid not null,
        created_by uuid not null,
        -- For whom it acts: who made it, or resumed it last.
        actor jsonb not null,
        tools_above jsonb not null,
        prompt text not null,
        agent_name text,
        model text not null,
        fallback_models text[] not null,
        on_approval text check (on_approval in ('wait', 'refuse', 'fail')),
        goal jsonb not null,
        context text not null check (context in ('continue', 'fresh')),
        interval_seconds int not null,
        stall_after int not null,
        max_iterations int not null,
        budget jsonb not null,
        state text not null check (state in ('waiting', 'running', 'grading', 'done')),
        outcome text check (outcome in ('satisfied', 'exhausted', 'budget', 'stalled', 'blocked', 'stopped', 'error')),
        reason text,
        iteration int not null default 0,
        -- The agent's run of this iteration.
        call_id uuid,
        -- What its agent says keeps it from going on.
        blocked_reason text,
        -- Iterations up to here do not count towards a stall, and what was said when it went on after them.
        resumed_after int not null default 0,
        resumed_with text,
        -- null: the price of a model is not known.
        spent_usd double precision default 0,
        spent_seconds double precision not null default 0,
        grading_failures int not null default 0,
        holder uuid,
        -- When its next iteration is due, or its grading is tried again.
        next_at timestamptz,
        last_event int not null default 0,
        created_at timestamptz not null,
        finished_at timestamptz
      );
      create index loop_workspace on loop (workspace_id, id);
      create index loop_due on loop (next_at) where state = 'waiting';
      create index loop_open on loop (id) where state in ('running', 'grading');
      create index loop_finished on loop (finished_at) where state = 'done';

      -- The bytes of checks, apart from the rows that are read all the time.
      create table loop_check (
        loop_id uuid primary key references loop on delete cascade,
        code bytea not null
      );

      create table loop_iteration (
        loop_id uuid not null references loop on delete cascade,
        number int not null,
        call_id uuid not null,
        stop_reason text,
        checks jsonb not null default '[]',
        verdict jsonb,
        -- What was not met: check, schema and ids of criteria; null until it is known.
        unmet text[],
        -- Of the files that the loop has changed so far.
        files_digest text,
        cost_usd double precision,
        grading_usd double precision default 0,
        started_at timestamptz not null,
        ended_at timestamptz,
        graded_at timestamptz,
        primary key (loop_id, number)
      );

      create table loop_event (
        loop_id uuid not null references loop on delete cascade,
        id int not null,
        type text not null,
        data jsonb not null,
        created_at timestamptz not null,
        primary key (loop_id, id)
      );
    `);
  }
}
