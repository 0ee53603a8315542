import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Config } from '../../platform/config/index.js';
import { Database } from '../../platform/database/index.js';
import { WorkSlots } from './work-slots.js';

/** How many sandboxes this process runs at once, so that one workspace or organization cannot take all of the machine. */
@Injectable()
export class SandboxPlaces {
  private readonly ofWorkspace: WorkSlots;
  private readonly ofOrganization: WorkSlots;
  /** A workspace stays in its organization. */
  private readonly organizations = new Map<string, string>();

  constructor(
    config: Config,
    private readonly database: Database,
  ) {
    this.ofWorkspace = new WorkSlots(config.sandboxesPerWorkspace, 'commands run in this workspace');
    this.ofOrganization = new WorkSlots(
      config.sandboxesPerOrganization,
      'commands run in the workspaces of this organization',
    );
  }

  /** A place for a command or a session, which is given back by what this resolves with; 429 where there is none in time. */
  async acquire(workspaceId: string, signal?: AbortSignal): Promise<() => void> {
    const organizationId = await this.organizationOf(workspaceId);
    const leaveWorkspace = await this.ofWorkspace.acquire(workspaceId, signal);
    try {
      const leaveOrganization = await this.ofOrganization.acquire(organizationId, signal);
      return () => {
        leaveOrganization();
        leaveWorkspace();
      };
    } catch (error) {
      leaveWorkspace();
      throw error;
    }
  }

  private async organizationOf(workspaceId: string): Promise<string> {
    const known = this.organizations.get(workspaceId);
    if (known) return known;
    const { rows } = await sql<{ organization_id: string }>`
      select organization_id from workspace where id = ${workspaceId}`.execute(this.database.tables());
    const id = rows[0]?.organization_id;
    // Deleted meanwhile: what runs there is told so by others.
    if (!id) return workspaceId;
    if (this.organizations.size > 10_000) this.organizations.clear();
    this.organizations.set(workspaceId, id);
    return id;
  }
}
