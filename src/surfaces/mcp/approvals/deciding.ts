import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { validate as isUuid } from 'uuid';
import { type Approval, ApprovalRequests } from '../../../agents/index.js';
import { OrganizationsStore } from '../../../identity/index.js';
import type { Actor } from '../../../platform/access/actor.js';
import { consequenceOf } from '../../../platform/actions/action.js';
import { ActionCatalog } from '../../../platform/actions/action-catalog.js';
import { Database } from '../../../platform/database/database.js';
import type { Row } from '../../../platform/database/rows.js';
import { problemOf } from '../../../platform/http/problem.js';
import type { ToDecide } from './approval-pages.js';

/** How a question stands for somebody who looks at it; `used` is allowed and done. */
export type Standing = 'unknown' | 'open' | 'expired' | 'allowed' | 'denied' | 'used';

interface Names {
  workspace: string | null;
  account: string | null;
  account_organization_id: string | null;
}

type Question = Row<Approval>;

/** Looking at what a client asks, and deciding it: for the person whose client it is. */
@Injectable()
export class Deciding {
  constructor(
    @Inject(ApprovalRequests) private readonly requests: ApprovalRequests,
    @Inject(OrganizationsStore) private readonly organizations: OrganizationsStore,
    @Inject(ActionCatalog) private readonly catalog: ActionCatalog,
    @Inject(Database) private readonly database: Database,
  ) {}

  async look(person: Actor, id: string): Promise<{ standing: Standing; asked?: ToDecide }> {
    const question = isUuid(id) ? await this.requests.find(id) : undefined;
    const names = question && (await this.namesFor(question));
    if (!question || !names || !(await this.mayDecide(person, question, names)))
      return { standing: 'unknown' };
    const standing = standingOf(question);
    return standing === 'open' ? { standing, asked: this.describe(question, names) } : { standing };
  }

  /** Does nothing where there is nothing to decide, or somebody else has decided. */
  async decide(person: Actor, id: string, decision: 'allowed' | 'denied'): Promise<void> {
    const { standing } = await this.look(person, id);
    if (standing === 'open') await this.requests.resolve(id, decision, person);
  }

  private describe({ id, tool, input, client_name, expires_at }: Question, names: Names): ToDecide {
    const { title, declaration } = this.catalog.require(tool);
    const minutes = Math.max(1, Math.round((Date.parse(expires_at) - Date.now()) / 60_000));
    const { workspace, account: owner } = names;
    const client = client_name ?? '';
    return {
      id,
      title,
      summary: declaration.summary,
      consequence: consequenceOf(declaration),
      action: tool,
      workspace,
      client,
      owner,
      input,
      minutes,
    };
  }

  /** The person whose client it is; of a service account, whoever manages service accounts in its organization. */
  private async mayDecide(person: Actor, { requested_by }: Question, names: Names): Promise<boolean> {
    if (requested_by === person.id) return true;
    if (!names.account_organization_id) return false;
    try {
      await this.organizations.require(person, 'service_account.manage', names.account_organization_id);
      return true;
    } catch (error) {
      if (problemOf(error)) return false;
      throw error;
    }
  }

  private async namesFor({ input, requested_by }: Question): Promise<Names | undefined> {
    const workspaceId = workspaceIn(input);
    const { rows } = await sql<Names>`
      select (select name from workspace where id = ${workspaceId}::uuid) as workspace,
        (select name from service_account where id = ${requested_by}) as account,
        (select organization_id from service_account where id = ${requested_by}) as account_organization_id`.execute(
      this.tables,
    );
    return rows[0];
  }

  private get tables() {
    return this.database.tables();
  }
}

function standingOf({ status, used_at, expires_at }: Question): Standing {
  if (status === 'denied') return 'denied';
  if (used_at !== null) return 'used';
  if (status === 'cancelled' || Date.parse(expires_at) <= Date.now()) return 'expired';
  return status === 'pending' ? 'open' : status;
}

/** The workspace that the call is about, where it names one. */
function workspaceIn(input: unknown): string | null {
  const { workspace_id } = (input ?? {}) as { workspace_id?: unknown };
  return isUuid(workspace_id) ? String(workspace_id) : null;
}
