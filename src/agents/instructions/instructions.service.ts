import { Injectable } from '@nestjs/common';
import { OrganizationId, OrganizationsStore } from '../../identity/organizations/index.js';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { Audit } from '../../platform/audit/index.js';
import { Database } from '../../platform/database/index.js';
import { AgentInstructionsView, SetAgentInstructions } from './instructions.dto.js';
import { InstructionsStore } from './instructions.store.js';

/** What an organization tells all of its agents. */
@Injectable()
export class InstructionsService {
  constructor(
    private readonly database: Database,
    private readonly organizations: OrganizationsStore,
    private readonly store: InstructionsStore,
    private readonly audit: Audit,
  ) {}

  @Action('agent_instructions_get', 'GET /api/organizations/:orgId/agent-instructions', {
    summary: 'Read what an organization tells all of its agents',
    effect: 'read',
    permission: 'agent.instruct',
    input: OrganizationId,
    output: AgentInstructionsView,
  })
  async read(actor: Actor, { organization_id }: OrganizationId): Promise<AgentInstructionsView> {
    await this.organizations.require(actor, 'agent.instruct', organization_id);
    return this.store.read(organization_id);
  }

  @Action('agent_instructions_set', 'PUT /api/organizations/:orgId/agent-instructions', {
    summary: 'Set what an organization tells all of its agents',
    consequence: 'All agents of the organization then go by this text, whoever sets them to work.',
    permission: 'agent.instruct',
    input: SetAgentInstructions,
    output: AgentInstructionsView,
  })
  async set(actor: Actor, input: SetAgentInstructions): Promise<AgentInstructionsView> {
    const { organization_id } = input;
    const instructions = input.instructions.trim();
    await this.database.transaction(async unit => {
      await this.organizations.requireLocked(unit, actor, 'agent.instruct', organization_id);
      await this.store.save(unit, organization_id, instructions, actor.id);
      const target = { type: 'organization', id: organization_id, organization_id };
      await this.audit.record(unit, actor, 'agent_instructions_set', target, { instructions });
    });
    return this.store.read(organization_id);
  }
}
