import { Injectable } from '@nestjs/common';
import { BudgetReached } from '../../../identity/billing/index.js';
import { Database } from '../../../platform/database/index.js';
import { problemOf } from '../../../platform/errors/index.js';
import { AuthorityLost, StandingAuthority } from '../../../workspaces/core/index.js';
import { ChatsStore } from '../../chats/index.js';
import { type ReadyRun, UnattendedRuns } from '../../messages/index.js';
import { type LoopEnd, type LoopRow, LoopsStore, LoopWriter } from '../records/index.js';
import { iterationMessage } from './iteration-message.js';
import { LoopEnds } from './loop-ends.js';
import { leftOf, spentUp } from './next-step.js';

const CHAT_GONE: LoopEnd = { outcome: 'stopped', reason: 'Its chat was deleted' };

/** Begins iterations: each is a run of the loop's chat, added together with the loop's new state, so at most once. */
@Injectable()
export class Iterations {
  constructor(
    private readonly database: Database,
    private readonly loops: LoopsStore,
    private readonly writer: LoopWriter,
    private readonly ends: LoopEnds,
    private readonly agents: UnattendedRuns,
    private readonly chats: ChatsStore,
    private readonly authority: StandingAuthority,
  ) {}

  /** Begins the one that is due, or ends the loop where that may not be. */
  async begin(loop: LoopRow): Promise<void> {
    const spent = spentUp(loop);
    if (spent !== undefined) return this.end(loop, { outcome: 'budget', reason: spent });
    let ready: ReadyRun;
    try {
      await this.authority.require(loop.actor, loop.workspace_id, 'agent.run');
      ready = await this.ready(loop);
    } catch (error) {
      if (error instanceof AuthorityLost) return this.end(loop, { outcome: 'error', reason: error.message });
      if (error instanceof BudgetReached) return this.end(loop, { outcome: 'budget', reason: error.detail });
      const problem = problemOf(error);
      if (!problem || problem.status >= 500) throw error;
      return this.end(loop, { outcome: 'error', reason: problem.detail });
    }
    await this.add(loop, ready);
  }

  private async ready(loop: LoopRow): Promise<ReadyRun> {
    const { id, chat_id, model, fallback_models, on_approval, tools_above, context, iteration } = loop;
    const before = (await this.loops.iterations(id)).at(-1);
    const { usd, seconds } = leftOf(loop);
    return this.agents.ready({
      actor: loop.actor,
      organizationId: loop.organization_id,
      workspaceId: loop.workspace_id,
      title: chat_id,
      agentName: loop.agent_name,
      text: iterationMessage(loop, before),
      model,
      fallback: fallback_models,
      onApproval: on_approval,
      responseSchema: loop.goal.schema ?? undefined,
      budget: {
        ...(usd !== undefined && { cost_usd: usd }),
        ...(seconds !== undefined && { max_seconds: Math.floor(seconds) }),
      },
      unattended: {
        of: { loopId: id },
        pinned: null,
        toolsAbove: tools_above,
        isFresh: context === 'fresh' && iteration > 0,
      },
    });
  }

  private async add(loop: LoopRow, ready: ReadyRun): Promise<void> {
    try {
      await this.database.transaction(async unit => {
        if (!(await this.chats.exists(loop.chat_id, unit))) throw new ChatGone();
        const { call_id, chat_id } = await this.agents.add(unit, ready, loop.chat_id);
        if (chat_id !== loop.chat_id) throw new ChatGone();
        if (!(await this.writer.begin(unit, loop, call_id))) throw new Superseded();
      });
    } catch (error) {
      if (error instanceof ChatGone) await this.end(loop, CHAT_GONE);
      else if (!(error instanceof Superseded)) throw error;
    }
  }

  private async end({ id }: LoopRow, end: LoopEnd): Promise<void> {
    await this.ends.endNow(id, end);
  }
}

/** There is no chat for the run. */
class ChatGone extends Error {}
/** The loop is not as it was read: another process began the iteration, or somebody stopped the loop. */
class Superseded extends Error {}
