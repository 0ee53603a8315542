import { Injectable } from '@nestjs/common';
import type { Feature } from '../../platform/access/index.js';
import { WorkspacesStore } from './workspaces.store.js';

type End = (workspaceId: string) => Promise<void>;

/**
 * What ends when a feature is turned off; the access policy refuses what comes later. Features register it while modules
 * start; it must be idempotent.
 */
@Injectable()
export class FeatureEnds {
  private readonly ends = new Map<Feature, End[]>();

  constructor(private readonly workspaces: WorkspacesStore) {}

  add(feature: Feature, end: End): void {
    this.ends.set(feature, [...(this.ends.get(feature) ?? []), end]);
  }

  /** Unless the feature is on again by now. */
  async run(feature: Feature, workspaceId: string): Promise<void> {
    if (!(await this.workspaces.isOff(workspaceId, feature))) return;
    for (const end of this.ends.get(feature) ?? []) await end(workspaceId);
  }
}
