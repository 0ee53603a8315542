import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { presets } from '#libs/egress-proxy/index.js';
import { Config } from '../../platform/config/index.js';
import { Database, type UnitOfWork } from '../../platform/database/index.js';
import { defineTopic } from '../../platform/topics/index.js';

export const EGRESS_MODES = ['none', 'allow'] as const;

export interface EgressRule {
  mode: (typeof EGRESS_MODES)[number];
  hosts: string[];
  presets: string[];
}

export const egressTopic = defineTopic('egress');

/** The rule of a workspace for which nobody has set one. */
export const NOTHING: EgressRule = { mode: 'none', hosts: [], presets: [] };

@Injectable()
export class EgressStore {
  constructor(
    private readonly config: Config,
    private readonly database: Database,
  ) {}

  async rule(workspaceId: string): Promise<EgressRule> {
    return (await this.find(workspaceId)) ?? NOTHING;
  }

  /** Undefined where nobody has set one. */
  async find(workspaceId: string, unit?: UnitOfWork): Promise<EgressRule | undefined> {
    const { rows } = await sql<EgressRule>`
      select mode, hosts, presets from workspace_egress where workspace_id = ${workspaceId}`.execute(
      (unit ?? this.database).tables(),
    );
    return rows[0];
  }

  async put(
    unit: UnitOfWork,
    workspaceId: string,
    by: string,
    { mode, hosts, presets }: EgressRule,
  ): Promise<void> {
    await sql`
      insert into workspace_egress (workspace_id, mode, hosts, presets, updated_by, updated_at)
      values (${workspaceId}, ${mode}, ${hosts}::text[], ${presets}::text[], ${by}, now())
      on conflict (workspace_id) do update
      set mode = excluded.mode, hosts = excluded.hosts, presets = excluded.presets,
        updated_by = excluded.updated_by, updated_at = excluded.updated_at`.execute(unit.tables());
  }

  /** The hosts that sandboxes of a workspace reach now. */
  async reachableFrom(workspaceId: string): Promise<string[]> {
    return this.reachable(await this.rule(workspaceId));
  }

  reachable({ mode, hosts, presets: named }: EgressRule): string[] {
    if (mode === 'none' || this.config.sandboxEgress === 'none') return [];
    const listed = named.flatMap(name =>
      Object.hasOwn(presets, name) ? presets[name as keyof typeof presets] : [],
    );
    return [...new Set([...hosts, ...listed])];
  }
}
