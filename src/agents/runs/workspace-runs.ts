import { Injectable, OnModuleInit } from '@nestjs/common';
import { sql } from 'kysely';
import { Database } from '../../platform/database/index.js';
import { FeatureEnds } from '../../workspaces/core/index.js';
import { RunStopper } from './run-stopper.js';

/** The runs of a workspace end when its agents are turned off: those in flight, those that wait, and their tasks. */
@Injectable()
export class WorkspaceRuns implements OnModuleInit {
  constructor(
    private readonly database: Database,
    private readonly stopper: RunStopper,
    private readonly features: FeatureEnds,
  ) {}

  onModuleInit(): void {
    this.features.add('agents', id => this.stopAll(id));
  }

  private async stopAll(workspaceId: string): Promise<void> {
    const { rows } = await sql<{ chat_id: string; ids: string[] }>`
      select chat_id, json_agg(id order by number) as ids from run
      where workspace_id = ${workspaceId} and status = 'pending' and parent_id is null and merged_into is null
      group by chat_id`.execute(this.database.tables());
    for (const { chat_id, ids } of rows) await this.stopper.stop(chat_id, ids);
  }
}
