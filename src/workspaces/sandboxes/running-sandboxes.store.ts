import { hostname } from 'node:os';
import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database } from '../../platform/database/index.js';
import { type Page, type PageInput, readPage } from '../../platform/dto/index.js';
import { type LeasedRows, Leases } from '../../platform/leases/index.js';
import { defineTopic, Topics } from '../../platform/topics/index.js';

const MAX_SHOWN = 500;

export const SANDBOX_KINDS = ['command', 'session'] as const;
export const SANDBOX_CALLERS = ['run', 'tool', 'service', 'build', 'server', 'automation', 'loop'] as const;

/**
 * What a sandbox runs for: a run, a person's use of a tool, the service itself, the build of a site, a server, the script of an
 * automation, or the check of a loop.
 */
export interface SandboxCaller {
  kind: (typeof SANDBOX_CALLERS)[number];
  id: string | null;
}

export interface RunningSandboxRow {
  id: string;
  name: string | null;
  command: string;
  caller_kind: SandboxCaller['kind'];
  caller_id: string | null;
  kind: (typeof SANDBOX_KINDS)[number];
  node: string;
  started_at: string;
  memory_bytes: string | null;
  cpu_ms: string | null;
  processes: number | null;
}

export interface NewSandbox {
  readonly workspaceId: string;
  readonly command: string;
  readonly caller: SandboxCaller;
  readonly kind: RunningSandboxRow['kind'];
}

export const sandboxesTopic = defineTopic('sandboxes');

/** Running sandboxes, each leased to the process that runs it. */
@Injectable()
export class RunningSandboxesStore {
  private readonly rows: LeasedRows;

  constructor(
    private readonly database: Database,
    private readonly topics: Topics,
    private readonly leases: Leases,
  ) {
    this.rows = leases.rows('running_sandbox', { holder: 'process_id' });
  }

  /**
   * With a name, only where no other process has it: replaces an ended one. Where sandboxes are turned off,
   * `stop_requested` is set.
   */
  async add(
    id: string,
    { workspaceId, command, caller, kind }: NewSandbox,
    name: string | null = null,
  ): Promise<{ stop_requested: boolean } | undefined> {
    const shown = command.length > MAX_SHOWN ? `${command.slice(0, MAX_SHOWN)}…`.toWellFormed() : command;
    const { rows } = await sql<{ stop_requested: boolean }>`
      with place as (
        select 'sandbox' = any(features_off) as is_closed from workspace where id = ${workspaceId} for key share)
      insert into running_sandbox
        (id, workspace_id, process_id, node, command, kind, caller_kind, caller_id, name, started_at, stop_requested)
      select ${id}::uuid, ${workspaceId}::uuid, ${this.leases.processId}::uuid, ${hostname()}, ${shown}, ${kind},
        ${caller.kind}, ${caller.id}::uuid, ${name}, now(), is_closed from place
      on conflict (workspace_id, caller_id, name) where name is not null do update
        set id = excluded.id, process_id = excluded.process_id, node = excluded.node, command = excluded.command,
          started_at = excluded.started_at, stop_requested = excluded.stop_requested,
          memory_bytes = null, cpu_ms = null, processes = null
        where ${this.rows.isOurs} or ${this.rows.isOrphaned}
      returning stop_requested`.execute(this.database.tables());
    return rows[0];
  }

  async remove(id: string): Promise<void> {
    await sql`delete from running_sandbox where id = ${id}`.execute(this.database.tables());
  }

  /** Removes sandboxes of dead processes, and those of this one that it does not know. */
  async removeOrphaned(isKnown: (id: string) => boolean): Promise<void> {
    const forgotten = await this.rows.forgotten(this.database, isKnown);
    await sql`delete from running_sandbox where ${this.rows.isOrphaned} or ${forgotten}`.execute(
      this.database.tables(),
    );
  }

  list(workspaceId: string, input: PageInput): Promise<Page<RunningSandboxRow>> {
    return readPage({ by: 'id' }, input, async ({ after, limit }) => {
      const { rows } = await sql<RunningSandboxRow>`
        select id, name, command, kind, caller_kind, caller_id, node, started_at, memory_bytes, cpu_ms, processes
        from running_sandbox
        where workspace_id = ${workspaceId} and not ${this.rows.isOrphaned}
          and (${after ?? null}::uuid is null or id > ${after ?? null})
        order by id limit ${limit}`.execute(this.database.tables());
      return rows;
    });
  }

  async sessionsOf(workspaceId: string, callerId: string): Promise<{ name: string; process_id: string }[]> {
    const { rows } = await sql<{ name: string; process_id: string }>`
      select name, process_id from running_sandbox
      where workspace_id = ${workspaceId} and caller_id = ${callerId} and name is not null
        and not ${this.rows.isOrphaned}`.execute(this.database.tables());
    return rows;
  }

  /** Asks the owning process to end one, or all of the workspace; false if there is none. */
  requestEnd(workspaceId: string, id: string | null): Promise<boolean> {
    return this.database.transaction(async unit => {
      const { rows } = await sql<{ process_id: string }>`
        update running_sandbox set stop_requested = true
        where id = coalesce(${id}::uuid, id) and workspace_id = ${workspaceId} and not ${this.rows.isOrphaned}
        returning process_id`.execute(unit.tables());
      for (const process of new Set(rows.map(({ process_id }) => process_id)))
        await this.topics.publishOnCommit(unit, sandboxesTopic(process));
      return rows.length > 0;
    });
  }

  async endRequested(): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      select id from running_sandbox where ${this.rows.isOurs} and stop_requested`.execute(
      this.database.tables(),
    );
    return rows.map(({ id }) => id);
  }

  async measure(usages: readonly Partial<RunningSandboxRow>[]): Promise<void> {
    await sql`
      update running_sandbox as shown
      set memory_bytes = measured.memory_bytes, cpu_ms = measured.cpu_ms, processes = measured.processes
      from jsonb_to_recordset(${JSON.stringify(usages)}::jsonb)
        as measured(id uuid, memory_bytes bigint, cpu_ms bigint, processes int)
      where shown.id = measured.id`.execute(this.database.tables());
  }
}
