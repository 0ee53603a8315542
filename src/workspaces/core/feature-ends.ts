import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Feature } from '../../platform/access/index.js';
import { Database } from '../../platform/database/index.js';

type End = (workspaceId: string) => Promise<void>;

/**
 * What is under way when a feature is turned off, and has to end. The access policy refuses what comes later. Each feature
 * that has something under way adds here, while modules start, how to end it; doing so twice must be harmless.
 */
@Injectable()
export class FeatureEnds {
  private readonly ends = new Map<Feature, End[]>();

  constructor(private readonly database: Database) {}

  add(feature: Feature, end: End): void {
    this.ends.set(feature, [...(this.ends.get(feature) ?? []), end]);
  }

  /** Ends what is under way, unless the feature is on again by now. */
  async run(feature: Feature, workspaceId: string): Promise<void> {
    const { rows } = await sql`
      select from workspace where id = ${workspaceId} and ${feature} = any(features_off)`.execute(
      this.database.tables(),
    );
    if (rows.length === 0) return;
    for (const end of this.ends.get(feature) ?? []) await end(workspaceId);
  }
}
