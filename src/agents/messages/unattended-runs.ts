import { Injectable } from '@nestjs/common';
import { Budgets } from '../../identity/billing/index.js';
import type { Actor } from '../../platform/access/index.js';
import { newId, type UnitOfWork } from '../../platform/database/index.js';
import { Invalid } from '../../platform/errors/index.js';
import { ChatsStore } from '../chats/index.js';
import { estimateUsd, ModelCatalog, ModelSettingsStore } from '../models/index.js';
import {
  type NewRun,
  type OnApproval,
  RunAcceptance,
  type RunModels,
  type Unattended,
} from '../runs/index.js';
import { Deliveries } from './deliveries.js';

/** A run that no request starts. */
export interface UnattendedRun {
  readonly actor: Actor;
  readonly organizationId: string;
  readonly workspaceId: string;
  /** Of a new chat. */
  readonly title: string;
  /** The subagent of the chat; null for the default assistant, or a pinned one. */
  readonly agentName: string | null;
  readonly text: string;
  readonly model: string | null;
  /** Models that are asked where that one cannot answer; absent: the organization's. */
  readonly fallback?: readonly string[];
  readonly budget: NewRun['budget'];
  readonly onApproval: OnApproval | null;
  readonly responseSchema: unknown;
  readonly unattended: Unattended;
}

/** One that was checked, and can be added in a transaction. */
export type ReadyRun = UnattendedRun & { readonly models: RunModels };

/** Starts runs of agents on behalf of what works without a person. */
@Injectable()
export class UnattendedRuns {
  constructor(
    private readonly chats: ChatsStore,
    private readonly acceptance: RunAcceptance,
    private readonly deliveries: Deliveries,
    private readonly models: ModelSettingsStore,
    private readonly catalog: ModelCatalog,
    private readonly budgets: Budgets,
  ) {}

  /** Throws ModelUnusable, and BudgetReached where a budget has no room for its first model call. */
  async ready(run: UnattendedRun): Promise<ReadyRun> {
    const { organizationId, workspaceId, model, fallback, text, budget } = run;
    const models = await this.models.resolveAll(organizationId, { model, fallback });
    const unpriced = this.catalog.unpriced([models.model, ...models.fallback]);
    if (budget?.cost_usd !== undefined && unpriced)
      throw new Invalid(`cost_usd cannot be kept: the price of ${unpriced} is not known here`);
    const { price = null } = this.catalog.describe(models.model) ?? {};
    await this.budgets.requireRoom(
      { organizationId, workspaceId },
      estimateUsd(price, Buffer.byteLength(text)),
    );
    return { ...run, models };
  }

  /** In the chat, after what is at work there, or in a new one where it is gone or not given. */
  async add(
    unit: UnitOfWork,
    ready: ReadyRun,
    chatId: string | null,
  ): Promise<{ call_id: string; chat_id: string }> {
    const { actor, models, text, budget, onApproval, responseSchema, unattended } = ready;
    const run: NewRun = {
      callId: newId(),
      messageId: newId(),
      actor,
      models,
      text,
      attachments: [],
      budget,
      delivery: 'queue',
      onApproval,
      responseSchema,
      unattended,
    };
    const place = { organization_id: ready.organizationId, workspace_id: ready.workspaceId };
    const id = chatId !== null && (await this.chats.exists(chatId, unit)) ? chatId : newId();
    if (id !== chatId)
      await this.chats.insert(unit, {
        id,
        title: ready.title,
        ...place,
        agent_name: ready.agentName,
        model: null,
        created_by: actor.id,
        task_of: null,
      });
    const pending = await this.deliveries.lock(unit, id, 'queue');
    await this.acceptance.add(unit, { id, ...place, agent_name: ready.agentName, model: null }, run);
    await this.deliveries.deliver(unit, { ...run, chatId: id }, 'queue', pending);
    return { call_id: run.callId, chat_id: id };
  }
}
