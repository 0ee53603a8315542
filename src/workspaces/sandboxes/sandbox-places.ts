import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { ConcurrencyLimit } from '../../platform/concurrency/index.js';
import { Config } from '../../platform/config/index.js';
import { Database } from '../../platform/database/index.js';

/** How many sandboxes this process runs at once, so that one workspace or organization cannot take all of the machine. */
@Injectable()
export class SandboxPlaces {
  private readonly ofWorkspace: ConcurrencyLimit;
  private readonly ofOrganization: ConcurrencyLimit;
  /** A workspace stays in its organization. */
  private readonly organizations = new Map<string, string>();

  constructor(
    config: Config,
    private readonly database: Database,
  ) {
    this.ofWorkspace = new ConcurrencyLimit(config.sandboxesPerWorkspace, 'commands run in this workspace');
    this.ofOrganization = new ConcurrencyLimit(
      config.sandboxesPerOrganization,
      'commands run in the workspaces of this organization',
    );
  }

  /** A place for a command or a session, which is given back by what this resolves with; 429 where there is none in time. */
  async acquire(workspaceId: string, signal?: AbortSignal): Promise<() => void> {
    const organizationId = await this.organizationOf(workspaceId);
    const leaveWorkspace = await this.ofWorkspace.acquire({ key: workspaceId, signal });
    try {
      const leaveOrganization = await this.ofOrganization.acquire({ key: organizationId, signal });
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
