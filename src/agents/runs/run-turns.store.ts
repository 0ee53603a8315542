import { type RawBuilder, sql } from 'kysely';
import type { LRUCache } from 'lru-cache';

/**
 * A run over which so many workers were lost may be what ends them. A process executes one such run at a time, so that no
 * other is given up with it for having been there.
 */
export const SUSPECT = 2;

const IS_RUNNABLE = sql`due and status = 'pending' and state <> 'waiting' and merged_into is null`;
const IS_SUSPECT = sql`(lost + (state = 'running')::int >= ${SUSPECT})`;
/** Runs of one person that are looked at, at least: others may just be claiming the first of them. */
const MIN_LOOKED_AT = 8;

/**
 * The runs whose turn it is. Who has runnable runs is found by going from one to the next in an index, so that a long queue of
 * one person costs no more than a short one. A turn is the place that a run would have if each organization, and in it each
 * person, had one after the other: those that are being worked on count. Among equals, who had none for longest is first.
 */
export function runsInTurn(
  processId: string,
  limit: number,
  lastTurns: LRUCache<string, number>,
): RawBuilder<unknown> {
  const firstSuspect = sql`select id from run where ${IS_RUNNABLE} and ${IS_SUSPECT} and not exists (
    select 1 from run where holder = ${processId} and status = 'pending' and lost >= ${SUSPECT} and parent_id is null)
    order by number limit 1`;
  const depth = Math.max(limit, MIN_LOOKED_AT);
  return sql`
    with recursive waiting as (
      (select organization_id, created_by from run where due order by organization_id, created_by limit 1)
      union all
      select next.* from waiting w, lateral (
        select organization_id, created_by from run
        where due and (organization_id, created_by) > (w.organization_id, w.created_by)
        order by organization_id, created_by limit 1) next
    ), had as materialized (
      select * from unnest(${[...lastTurns.keys()]}::text[], ${[...lastTurns.values()]}::int[]) as t(who, turn)
    ), held as materialized (
      select organization_id, created_by, count(*) as runs from run
      where holder is not null and parent_id is null group by organization_id, created_by
    ), held_by_all as materialized (
      select organization_id, sum(runs) as runs from held group by organization_id
    ), of_person as materialized (
      select w.organization_id, coalesce(a.runs, 0) as held_by_all, due_run.id, due_run.number,
        coalesce(of_all.turn, 0) as last_of_all, coalesce(of_one.turn, 0) as last_of_one,
        coalesce(h.runs, 0) + row_number() over (
          partition by w.organization_id, w.created_by order by due_run.number) as turn
      from waiting w
      left join held h on h.organization_id = w.organization_id and h.created_by = w.created_by
      left join held_by_all a on a.organization_id = w.organization_id
      left join had of_all on of_all.who = w.organization_id::text
      left join had of_one on of_one.who = w.organization_id || ' ' || w.created_by
      cross join lateral (
        select id, number from run
        where organization_id = w.organization_id and created_by = w.created_by and ${IS_RUNNABLE}
          and (not ${IS_SUSPECT} or id = (${firstSuspect}))
        order by number limit ${depth}) due_run
    ), in_turn as materialized (
      select array(select id from (
        select id, number, last_of_all,
          held_by_all + row_number() over (partition by organization_id order by turn, last_of_one, number) as turn
        from of_person) of_organization order by turn, last_of_all, number limit ${4 * depth}) as ids
    )
    select id from run where id = any((select ids from in_turn)::uuid[]) and coalesce(due, false)
    order by array_position((select ids from in_turn), id) limit ${limit} for update skip locked`;
}
