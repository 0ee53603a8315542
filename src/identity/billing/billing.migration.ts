import { Migration } from '@mikro-orm/migrations';

/** Usage, budgets and spend of organizations and workspaces. */
export class BillingMigration extends Migration {
  override up(): void {
    this.addSql(`
      -- The ledger has no foreign keys: what it tells of may be gone, and its rows stay. Money is numeric, so that sums are exact.
      create table usage_entry (
        id uuid primary key default gen_random_uuid(),
        time timestamptz not null,
        organization_id uuid not null,
        workspace_id uuid,
        chat_id uuid,
        run_id uuid,
        step int,
        position int,
        actor_id uuid,
        kind text not null check (kind in ('model_call', 'tool_seconds', 'storage_byte_hours', 'build_seconds', 'server_seconds')),
        model text,
        input_tokens bigint,
        output_tokens bigint,
        cache_read_tokens bigint,
        cache_write_tokens bigint,
        reasoning_tokens bigint,
        seconds double precision,
        byte_hours double precision,
        cost_usd numeric check (cost_usd >= 0),
        deployment_id uuid
      );
      create index usage_entry_organization_id on usage_entry (organization_id, time);
      create unique index usage_entry_once_a_step on usage_entry (run_id, step) where kind = 'model_call';
      create unique index usage_entry_once_a_tool_call on usage_entry (run_id, step, position) where kind = 'tool_seconds';
      create unique index usage_entry_once_a_slot on usage_entry (workspace_id, time) where kind = 'storage_byte_hours';
      -- Entries are written in the order of their times: a few pages tell where a day lies.
      create index usage_entry_time on usage_entry using brin (time);

      create function refuse_usage_change() returns trigger language plpgsql as $$
      begin
        raise exception 'The usage ledger is append-only: % refused', tg_op using errcode = 'insufficient_privilege';
      end $$;
      create trigger usage_entry_append_only before update or delete on usage_entry
        for each row execute function refuse_usage_change();
      create trigger usage_entry_no_truncate before truncate on usage_entry
        for each statement execute function refuse_usage_change();

      create table usage_day (
        organization_id uuid not null,
        day date not null,
        workspace_id uuid,
        actor_id uuid,
        deployment_id uuid,
        model text,
        model_calls bigint not null,
        unpriced_calls bigint not null,
        input_tokens bigint not null,
        output_tokens bigint not null,
        cache_read_tokens bigint not null,
        cache_write_tokens bigint not null,
        tool_seconds double precision not null,
        build_seconds double precision not null,
        server_seconds double precision not null,
        storage_byte_hours double precision not null,
        spend_usd numeric not null,
        unique nulls not distinct (organization_id, day, workspace_id, actor_id, deployment_id, model)
      );
      comment on table usage_day is 'Sums of usage_entry for the days before usage_summed.until';

      create table usage_summed (
        is_one boolean primary key default true check (is_one),
        until date not null
      );
      comment on column usage_summed.until is 'In UTC; the days before it are in usage_day';

      insert into usage_summed (until) values ((now() at time zone 'utc')::date);

      -- scope_id is an organization or a workspace.
      create table budget (
        scope_id uuid primary key,
        organization_id uuid not null references organization on delete cascade deferrable initially deferred,
        workspace_id uuid references workspace on delete cascade deferrable initially deferred,
        monthly_usd numeric check (monthly_usd >= 0),
        hard_stop boolean not null,
        alerts int[] not null,
        updated_at timestamptz not null,
        is_default boolean not null default false,
        check (scope_id = coalesce(workspace_id, organization_id))
      );
      create index budget_organization_id on budget (organization_id);
      create index budget_workspace_id on budget (workspace_id);

      -- Sums of the ledger, kept with it in one statement, so that a budget is checked by looking at one row.
      create table spend (
        scope_id uuid not null,
        period date not null,
        spent_usd numeric not null,
        primary key (scope_id, period)
      );

      create function this_month() returns date language sql stable parallel safe as $$
        select date_trunc('month', now() at time zone 'utc')::date
      $$;

      create table budget_alert (
        scope_id uuid not null,
        period date not null,
        percent int not null,
        organization_id uuid not null references organization on delete cascade deferrable initially deferred,
        workspace_id uuid,
        spent_usd numeric not null,
        monthly_usd numeric not null,
        created_at timestamptz not null,
        mailed_at timestamptz,
        primary key (scope_id, period, percent)
      );
      create index budget_alert_organization_id on budget_alert (organization_id);
      create index budget_alert_unmailed on budget_alert (created_at) where mailed_at is null;

      create function tell_budget_alert() returns trigger language plpgsql as $$
      begin
        perform notify_topic('budget-alerts');
        return null;
      end $$;
      create trigger budget_alert_made after insert on budget_alert for each statement execute function tell_budget_alert();

      -- What model calls in flight may cost; a run has one at a time.
      create table budget_reservation (
        run_id uuid primary key,
        attempt int not null,
        step int not null,
        organization_id uuid not null,
        workspace_id uuid,
        amount_usd numeric not null check (amount_usd >= 0),
        expires_at timestamptz not null
      );
      create index budget_reservation_organization_id on budget_reservation (organization_id);
      create index budget_reservation_workspace_id on budget_reservation (workspace_id);

      -- Who waits for room in a budget looks again when some is freed.
      create function tell_budget_room() returns trigger language plpgsql as $$
      begin
        perform notify_topic('budget:' || coalesce(new.organization_id, old.organization_id));
        return null;
      end $$;
      create trigger budget_reservation_freed after delete on budget_reservation for each row execute function tell_budget_room();
      create trigger budget_changed after insert or update or delete on budget for each row execute function tell_budget_room();

      -- The hard stops that stand over a place, with what is spent and what is held for calls of other runs.
      create function hard_stops(of_organization uuid, of_workspace uuid, besides_run uuid)
      returns table (scope_id uuid, monthly_usd numeric, spent_usd numeric, held_usd numeric, held_until timestamptz)
      language sql stable as $$
        select b.scope_id, b.monthly_usd, coalesce(s.spent_usd, 0), coalesce(r.held_usd, 0), r.held_until
        from budget b
        left join spend s on s.scope_id = b.scope_id and s.period = this_month()
        cross join lateral (
          select sum(amount_usd) as held_usd, min(expires_at) as held_until from budget_reservation
          where (b.workspace_id is null and organization_id = b.organization_id or workspace_id = b.workspace_id)
            and run_id is distinct from besides_run and expires_at > clock_timestamp()
        ) r
        where b.scope_id in (of_organization, of_workspace) and b.hard_stop and b.monthly_usd is not null
      $$;

      -- Holds what a model call may cost (null: not known) against the budgets over it. No row: go ahead. A row names the
      -- budget that keeps the call from being made; 'is_full' when only calls in flight are in its way. Reservations are
      -- made one after the other: each takes the budgets' locks first, and only then looks.
      create function reserve_spend(
        of_run uuid, of_attempt int, of_step int, of_organization uuid, of_workspace uuid, estimate numeric, keep interval
      ) returns table (scope_id uuid, monthly_usd numeric, spent_usd numeric, is_full boolean, held_until timestamptz)
      language plpgsql as $$
      #variable_conflict use_column
      begin
        perform 1 from budget b
        where b.scope_id in (of_organization, of_workspace) and b.hard_stop and b.monthly_usd is not null
        order by b.scope_id for update;
        if not found then return; end if;
        return query
          select h.scope_id, h.monthly_usd, h.spent_usd,
            h.spent_usd < h.monthly_usd and h.spent_usd + coalesce(estimate, 0) <= h.monthly_usd, h.held_until
          from hard_stops(of_organization, of_workspace, of_run) h
          where h.spent_usd >= h.monthly_usd or h.spent_usd + h.held_usd + estimate > h.monthly_usd
          order by 4, h.scope_id limit 1;
        if found or estimate is null then return; end if;
        insert into budget_reservation as r (run_id, attempt, step, organization_id, workspace_id, amount_usd, expires_at)
        values (of_run, of_attempt, of_step, of_organization, of_workspace, estimate, clock_timestamp() + keep)
        on conflict (run_id) do update set attempt = excluded.attempt, step = excluded.step,
          amount_usd = excluded.amount_usd, expires_at = excluded.expires_at
        where r.attempt <= excluded.attempt;
      end $$;
    `);
  }
}
