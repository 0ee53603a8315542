import { Injectable, OnModuleInit } from '@nestjs/common';
import { sql } from 'kysely';
import { Database, isOutage } from '../../platform/database/index.js';
import { Leases } from '../../platform/leases/index.js';
import { Log } from '../../platform/log/index.js';
import { WorkspaceFolders } from '../core/index.js';
import { type Change, ChangeLog } from './change-log.js';
import { type Intent, outcomeOf } from './intent.js';
import { NewestLogged } from './newest-logged.js';
import { WriteIntents } from './write-intents.js';

/**
 * Finds what became of writes whose process ended before they were recorded, and records it: at the start of a process, when
 * another process is lost, and before the workspace's history is read or its files are overwritten.
 */
@Injectable()
export class IntentRecovery implements OnModuleInit {
  constructor(
    private readonly database: Database,
    private readonly folders: WorkspaceFolders,
    private readonly leases: Leases,
    private readonly changes: ChangeLog,
    private readonly intents: WriteIntents,
    private readonly logged: NewestLogged,
    private readonly log: Log,
  ) {}

  onModuleInit(): void {
    this.leases.recover('write', async () => void (await this.recoverLost()));
  }

  /** Those of processes that are gone, in one workspace or in all; returns how many there were. */
  async recoverLost(workspaceId?: string): Promise<number> {
    const lost = await this.intents.lost(workspaceId);
    for (const intent of lost) await this.recover(intent);
    return lost.length;
  }

  /**
   * Records what became of a write, by what is there now or, where that is known, as `changes` say. Harmless to be done twice.
   *
   * @throws where the database cannot be reached; what cannot be told at all is given up
   */
  async recover(intent: Intent, changes?: readonly Change[]): Promise<void> {
    const { id, workspace_id, writer_type, writer_id } = intent;
    try {
      // Some of its changes may be in the log by now, or all: then it is under way no more.
      const begun = await this.intents.find(id);
      if (!begun && !changes) return;
      const found = changes ?? (await this.outcome(intent));
      const missing = await this.logged.missing(workspace_id, found);
      await this.changes.record(workspace_id, { type: writer_type, id: writer_id }, missing, begun);
      if (missing.length > 0)
        this.log.info({ workspace_id, changes: missing.length }, 'a write was recorded late');
    } catch (error) {
      if (isOutage(error)) throw error;
      this.log.error({ err: error, workspace_id }, 'what a write changed cannot be told');
      await this.intents.remove(id);
    }
  }

  private async outcome(intent: Intent): Promise<Change[]> {
    const { rows } = await sql<{ id: string; number: number }>`
      select id, number from workspace where id = ${intent.workspace_id}`.execute(this.database.tables());
    const [workspace] = rows;
    return workspace ? outcomeOf(this.folders.open(workspace), intent) : [];
  }
}
