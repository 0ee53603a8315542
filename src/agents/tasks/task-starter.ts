import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { ActingRun } from '../../platform/access/index.js';
import { Database, newId, storable } from '../../platform/database/index.js';
import { assertValid, hydrate } from '../../platform/dto/index.js';
import { Conflict, Invalid } from '../../platform/errors/index.js';
import { Topics } from '../../platform/topics/index.js';
import { keepAttachments } from '../attachments/index.js';
import type { Chat } from '../chats/index.js';
import { ModelCatalog, ModelsService } from '../models/index.js';
import {
  type CarriedRun,
  type NewRun,
  type NewTask,
  type PlannedCall,
  type RunJournal,
  type RunLimits,
  TasksStore,
  taskRows,
  tasksTopic,
} from '../runs/index.js';
import { type Subagent, SubagentsService } from '../subagents/index.js';
import { type HeldRun, TaskRoom } from './task-room.js';
import { TaskInput } from './task-tool.js';

/** The run that hands over tasks, in the attempt under way. */
export interface TaskGiver {
  readonly run: CarriedRun;
  readonly journal: RunJournal;
  readonly limits: RunLimits;
  /** The lists that must allow whatever is called for it. */
  readonly allowlists: readonly (readonly string[])[];
}

/** Turns the call of an agent into a task, once. */
@Injectable()
export class TaskStarter {
  constructor(
    private readonly tasks: TasksStore,
    private readonly subagents: SubagentsService,
    private readonly models: ModelsService,
    private readonly catalog: ModelCatalog,
    private readonly room: TaskRoom,
    private readonly database: Database,
  ) {}

  /** The id of the task's run, made now unless an earlier attempt made it. A Problem says why there cannot be one. */
  async start(giver: TaskGiver, call: PlannedCall): Promise<string> {
    const { run, journal } = giver;
    const earlier = run.attempt > 1 ? await this.tasks.find(run.id, call) : undefined;
    if (earlier) return earlier;
    const input = hydrate(TaskInput, call.input);
    assertValid(input);
    const { agent: name, prompt, description } = input as TaskInput;
    const agent = await this.agentFor(run, name);
    const model = await this.modelFor(giver, agent);
    const [id, chatId, messageId] = [newId(), newId(), newId()];
    const task: NewTask = {
      id,
      chatId,
      messageId,
      place: call,
      title: description?.trim() || `Task for ${agent.name}`,
      agentName: agent.name,
      model,
      actor: run.actor,
      onApproval: run.on_approval,
      depth: run.depth + 1,
      toolsAbove: giver.allowlists,
      content: storable([{ type: 'text', text: prompt }]),
      queued: storable({ call_id: id, chat_id: chatId, message_id: messageId, parent_call_id: run.id }),
    };
    await this.database.transaction(async unit => {
      await this.room.hold(unit, run.id);
      await journal.startTask(call, task, unit);
    });
    return id;
  }

  private async agentFor({ actor, workspace_id }: CarriedRun, name: string): Promise<Subagent> {
    if (workspace_id === null) throw new Invalid('This chat has no workspace, so there are no agents');
    return this.subagents.require(actor, workspace_id, name);
  }

  /** The agent's own model, else that of the run that hands the task over. */
  private async modelFor({ run, limits }: TaskGiver, { name, model: own }: Subagent): Promise<string> {
    const model = own
      ? await this.models.resolve(run.organization_id, own, `the model of the agent ${name}`)
      : run.model;
    if (limits.limitsCost && !this.catalog.describe(model)?.price)
      throw new Invalid(
        `The run has a budget for its cost, which cannot be kept: the price of ${model} is not known here`,
      );
    return model;
  }
}

/** Writes down the messages that runs send, by whatever way: each starts a task of the run, in a chat of its own. */
@Injectable()
export class TaskIntake {
  constructor(
    private readonly database: Database,
    private readonly room: TaskRoom,
    private readonly subagents: SubagentsService,
    private readonly catalog: ModelCatalog,
    private readonly topics: Topics,
  ) {}

  /** Throws Conflict or TooManyRequests where the run may start none; it acts on the authority of the run. */
  async start(by: ActingRun, chat: Chat, run: NewRun): Promise<void> {
    const toolsOwn = by.tools ?? (await this.toolsOf(by.id));
    await this.database.transaction(async unit => {
      const above = await this.room.hold(unit, by.id, { atOnce: true });
      this.requirePossible(above, chat, run);
      const { callId: id, messageId, models, attachments, budget, responseSchema } = run;
      const content = [{ type: 'text', text: run.text }, ...attachments.map(({ part }) => part)];
      const parts = taskRows(sql`above`, {
        id,
        chatId: chat.id,
        messageId,
        place: null,
        title: chat.title,
        agentName: chat.agentName,
        model: models.model,
        actor: above.actor,
        onApproval: run.onApproval ?? above.on_approval,
        depth: above.depth + 1,
        toolsAbove: toolsOwn,
        content: storable(content),
        queued: storable({ call_id: id, chat_id: chat.id, message_id: messageId, parent_call_id: above.id }),
        more: { budget, fallback: models.fallback, responseSchema },
      });
      if (attachments.length > 0) parts.push(keepAttachments(sql`opened`, chat.workspaceId, attachments));
      const { rows } = await sql`
        with above as (update run set requested_tasks = requested_tasks + 1 where id = ${above.id} returning *),
          ${sql.join(parts)}
        select from opened`.execute(unit.tables());
      if (rows.length === 0) throw new Conflict('chat_id is taken; leave it out to get a new one');
      await this.topics.publishOnCommit(unit, tasksTopic(above.id));
      unit.afterCommit(() => this.topics.publish(tasksTopic(above.id)));
    });
  }

  private requirePossible({ workspace_id, limits_cost }: HeldRun, chat: Chat, { models }: NewRun): void {
    if (chat.workspaceId !== workspace_id)
      throw new Invalid('workspace_id: a run starts tasks in its own workspace alone');
    const unpriced = [models.model, ...models.fallback].find(model => !this.catalog.describe(model)?.price);
    if (limits_cost && unpriced)
      throw new Invalid(
        `The run has a budget for its cost, which cannot be kept: the price of ${unpriced} is not known here`,
      );
  }

  /** The lists that limit a run, as its agent's file has them by now. */
  private async toolsOf(runId: string): Promise<readonly (readonly string[])[]> {
    const { rows } = await sql<Pick<HeldRun, 'actor' | 'workspace_id' | 'agent_name' | 'tools_above'>>`
      select actor, workspace_id, agent_name, tools_above from run where id::text = ${runId}`.execute(
      this.database.tables(),
    );
    const [run] = rows;
    if (!run) throw new Conflict('The run has ended, so it can start nothing more');
    const { actor, workspace_id, agent_name, tools_above } = run;
    if (!workspace_id || !agent_name) return tools_above;
    return [...tools_above, (await this.subagents.require(actor, workspace_id, agent_name)).tools];
  }
}
