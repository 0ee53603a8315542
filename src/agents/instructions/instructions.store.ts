import { Injectable } from '@nestjs/common';
import { Database, iso, type UnitOfWork } from '../../platform/database/index.js';
import { defineTopic, TopicCache, Topics } from '../../platform/topics/index.js';
import type { AgentInstructionsView } from './instructions.dto.js';

const instructionsTopic = defineTopic('agent-instructions');

const NONE: AgentInstructionsView = { instructions: '', updated_at: null };

/** Keeps what organizations tell their agents. Every run asks for it, so it is read again only when it was changed. */
@Injectable()
export class InstructionsStore {
  private readonly known: TopicCache<AgentInstructionsView>;

  constructor(
    private readonly database: Database,
    private readonly topics: Topics,
  ) {
    this.known = new TopicCache(topics, [instructionsTopic], { max: 1_000, ttlMs: 60_000 });
  }

  /** As runs go by it. */
  async latest(organizationId: string): Promise<string> {
    return (await this.known.get(organizationId, () => this.read(organizationId))).instructions;
  }

  async read(organizationId: string): Promise<AgentInstructionsView> {
    const row = await this.database
      .tables()
      .selectFrom('agent_instructions')
      .select(['instructions', 'updated_at'])
      .where('organization_id', '=', organizationId)
      .executeTakeFirst();
    return row ? { instructions: row.instructions, updated_at: iso(row.updated_at) } : NONE;
  }

  /** Of two that come at once, one is what stays. */
  async save(unit: UnitOfWork, organizationId: string, instructions: string, by: string): Promise<void> {
    const values = { instructions, updated_by: by, updated_at: new Date().toISOString() };
    await unit
      .tables()
      .insertInto('agent_instructions')
      .values({ organization_id: organizationId, ...values })
      .onConflict(conflict => conflict.column('organization_id').doUpdateSet(values))
      .execute();
    await this.topics.publishWithCommit(unit, instructionsTopic(organizationId));
  }
}
