import { Injectable, OnModuleInit } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { inputSchemaOf } from '#libs/fields/index.js';
import type { ActingRun } from '../../platform/access/index.js';
import { Config } from '../../platform/config/index.js';
import { Database, newId, type UnitOfWork } from '../../platform/database/index.js';
import { Field } from '../../platform/dto/index.js';
import { Conflict, Invalid, TooManyRequests } from '../../platform/errors/index.js';
import { Topics } from '../../platform/topics/index.js';
import type { NewChat } from '../chats/index.js';
import { ModelCatalog, ModelSettingsStore, ResponseSchemas } from '../models/index.js';
import { AGENT_NAME, type Subagent, SubagentsService } from '../subagents/index.js';
import {
  inputOf,
  type ListedTool,
  type ListScope,
  type OpenTools,
  type ToolOffer,
  type ToolProvider,
  ToolProviders,
  type ToolScope,
} from '../tools/index.js';
import { type NewRun, RunAcceptance, type RunModels } from './run-acceptance.store.js';
import type { RunAttempt } from './run-attempt.js';
import { type ExecutedRun } from './run-queue.store.js';
import { type PlannedCall, type RunRow, tasksTopic } from './run-state.js';
import { RunWriter } from './run-writer.store.js';
import { RunsStore } from './runs.store.js';
import { TasksStore } from './tasks.store.js';

/** What the tool takes by which an agent hands work to a subagent. */
export class TaskInput {
  @Field.text('Name of the agent', { ...AGENT_NAME, min: 1 }) agent: string;

  @Field.text('All that it needs to know: it sees nothing of this conversation', {
    min: 1,
    max: 1_000_000,
    pattern: /\S/,
    patternHint: 'must not be blank',
    example: 'Check notes/plan.md for dates that have passed, and list them.',
  })
  prompt: string;

  @Field.text('The task in a few words, for people', { max: 200, optional: true, example: 'Check dates' })
  description?: string;

  @Field.json('JSON Schema of the answer, where it is to be JSON: then it is checked', {
    optional: true,
    example: { type: 'array', items: { type: 'string' } },
  })
  response_schema?: unknown;
}

/** How many tasks a run may have, and how deep below one that a person started. */
@Injectable()
export class TaskQuota {
  constructor(
    private readonly config: Config,
    private readonly writer: RunWriter,
    private readonly tasks: TasksStore,
    private readonly catalog: ModelCatalog,
  ) {}

  /** Whether a run so many levels down may hand over tasks. */
  reaches(depth: number): boolean {
    return depth < this.config.runLimits.task_depth;
  }

  /**
   * The run, locked with those above it, so that tasks start one by one. Throws Conflict where it has ended, is too deep
   * down or has had all its tasks, and Invalid where a budget over it limits its cost and the price of a model of the task is
   * not known; with `atOnce`, TooManyRequests where as many are at work as may be.
   */
  async lock(
    unit: UnitOfWork,
    runId: string,
    { model, fallback }: RunModels,
    { atOnce = false } = {},
  ): Promise<RunRow> {
    const run = await this.writer.lockRun(unit, runId);
    if (!run) throw new Conflict('The run has ended, so it can start nothing more');
    const { task_depth, tasks_at_once, tasks } = this.config.runLimits;
    if (!this.reaches(run.depth))
      throw new Conflict(
        `Tasks are handed on ${task_depth} levels deep at most; do this one yourself, or leave it to who gave you yours`,
      );
    const { at_work, in_all, limits_cost } = await this.tasks.counts(unit, runId);
    if (in_all >= tasks)
      throw new Conflict(`A run may start ${tasks} tasks in all, and these were; do the rest yourself`);
    if (atOnce && at_work >= tasks_at_once)
      throw new TooManyRequests(
        `A run has ${tasks_at_once} tasks at work at most; wait for the end of one (run_status_get), then try again`,
      );
    if (limits_cost) requirePrice(this.catalog, [model, ...fallback]);
    return run;
  }
}

/** Turns the call of an agent into a task, once. */
@Injectable()
export class TaskStarter {
  constructor(
    private readonly tasks: TasksStore,
    private readonly subagents: SubagentsService,
    private readonly models: ModelSettingsStore,
    private readonly quota: TaskQuota,
    private readonly schemas: ResponseSchemas,
    private readonly acceptance: RunAcceptance,
    private readonly database: Database,
  ) {}

  /** The id of the task's run, made now unless an earlier attempt made it. A Problem says why there cannot be one. */
  async start(
    { run, journal }: RunAttempt,
    toolsAbove: readonly (readonly string[])[],
    call: PlannedCall,
  ): Promise<string> {
    const earlier = run.attempt > 1 ? await this.tasks.find(run.id, call) : undefined;
    if (earlier) return earlier;
    const { agent: name, prompt: text, description, response_schema } = inputOf(TASK, TaskInput, call.input);
    if (response_schema !== undefined) await this.schemas.requireUsable(response_schema);
    const { actor, organization_id, workspace_id } = run;
    if (workspace_id === null) throw new Invalid('This chat has no workspace, so there are no agents');
    const agent = await this.subagents.require(actor, workspace_id, name);
    const models = { model: await this.modelFor(run, agent), fallback: [] };
    const title = description?.trim() || `Task for ${agent.name}`;
    const place = { organization_id, workspace_id, created_by: actor.id, task_of: run.id };
    const chat = { id: newId(), title, agent_name: agent.name, model: null, ...place };
    const task: NewRun = {
      actor,
      callId: newId(),
      messageId: newId(),
      models,
      text,
      attachments: [],
      delivery: 'queue',
      budget: undefined,
      onApproval: run.on_approval,
      responseSchema: response_schema,
    };
    await this.database.transaction(async unit => {
      await this.quota.lock(unit, run.id, models);
      const data = { id: call.callId, text: `${agent.name}: ${title}\n`, task_call_id: task.callId };
      await journal.append([{ type: 'tool.output', data }], unit);
      const isAdded = await this.acceptance.addTask(unit, {
        chat,
        run: task,
        call,
        depth: run.depth + 1,
        toolsAbove,
      });
      if (!isAdded) throw new Error('A chat with a new id is there already');
    });
    return task.callId;
  }

  /** The agent's own model, else that of the run that hands the task over. */
  private async modelFor(run: ExecutedRun, { name, model }: Subagent): Promise<string> {
    if (!model) return run.model;
    return this.models.resolve(run.organization_id, model, `the model of the agent ${name}`);
  }
}

/** Writes down the messages that runs send, by whatever way: each starts a task of the run, in a chat of its own. */
@Injectable()
export class TaskIntake {
  constructor(
    private readonly database: Database,
    private readonly quota: TaskQuota,
    private readonly runs: RunsStore,
    private readonly acceptance: RunAcceptance,
    private readonly subagents: SubagentsService,
    private readonly topics: Topics,
  ) {}

  /** Throws Conflict or TooManyRequests where the run may start none; it acts on the authority of the run. */
  async start(by: ActingRun, chat: NewChat, run: NewRun): Promise<void> {
    const toolsAbove = by.tools ?? (await this.toolsOf(by.id));
    await this.database.transaction(async unit => {
      const above = await this.quota.lock(unit, by.id, run.models, { atOnce: true });
      const { id, organization_id, actor, on_approval, depth } = above;
      if (chat.workspace_id !== above.workspace_id)
        throw new Invalid('workspace_id: a run starts tasks in its own workspace alone');
      const task = { ...run, actor, delivery: 'queue' as const, onApproval: run.onApproval ?? on_approval };
      const taskChat = { ...chat, organization_id, model: null, created_by: actor.id, task_of: id };
      if (
        !(await this.acceptance.addTask(unit, {
          chat: taskChat,
          run: task,
          call: null,
          depth: depth + 1,
          toolsAbove,
        }))
      )
        throw new Conflict('chat_id is taken; leave it out to get a new one');
      await this.topics.publishWithCommit(unit, tasksTopic(id));
    });
  }

  /** The lists that limit a run, as its agent's file has them by now. */
  async toolsOf(runId: string): Promise<readonly (readonly string[])[]> {
    const run = await this.runs.find(runId);
    if (!run) throw new Conflict('The run has ended, so it can start nothing more');
    const { actor, workspace_id, agent_name, tools_above } = run;
    if (!workspace_id || !agent_name) return tools_above;
    return [...tools_above, (await this.subagents.require(actor, workspace_id, agent_name)).tools];
  }
}

function requirePrice(catalog: ModelCatalog, models: readonly string[]): void {
  const unpriced = catalog.unpriced(models);
  if (unpriced)
    throw new Invalid(
      `The run has a budget for its cost, which cannot be kept: the price of ${unpriced} is not known here`,
    );
}

/** The tool by which an agent hands work to a subagent. */
export const TASK = 'task';

/** Longest description of an agent that is shown to those who may hand it work, in characters. */
const MAX_DESCRIPTION = 500;

/** The tool by which agents hand work to the subagents of their workspace. */
@Injectable()
export class TaskTools implements ToolProvider, OnModuleInit {
  readonly kind = 'task';
  readonly needs = 'colleagues';
  readonly names = [TASK];

  constructor(
    private readonly providers: ToolProviders,
    private readonly quota: TaskQuota,
  ) {}

  onModuleInit(): void {
    this.providers.register(this);
  }

  async list({ guide: { colleagues } }: ListScope): Promise<ListedTool[]> {
    const reason = colleagues.length > 0 ? null : 'No agent is defined in .agents/ to hand a task to';
    return [{ ...offerFor(colleagues), effect: 'write', reason, agentsOnly: true }];
  }

  open({ guide, depth }: ToolScope): OpenTools {
    const isOffered = this.quota.reaches(depth) && guide.allows(TASK);
    return {
      offered: isOffered ? [offerFor(guide.colleagues)] : [],
      call: (_tool, _input, { handOver }) => handOver(),
    };
  }
}

/** Offers by their descriptions: the same object for the same agents, so that what is made of it for models is found again. */
const offers = new LRUCache<string, ToolOffer>({ max: 100 });

function offerFor(agents: readonly Subagent[]): ToolOffer {
  const list = agents.map(({ name, description }) => `- ${name}: ${description.slice(0, MAX_DESCRIPTION)}`);
  const description = `Hand a task to a subagent, which works on it by itself, in the same files, and answers with its result. Calls made together are worked on at the same time. The agents:\n${list.join('\n')}`;
  const offer = offers.get(description) ?? { name: TASK, description, schema: SCHEMA, told: TOLD };
  offers.set(description, offer);
  return offer;
}

const SCHEMA = inputSchemaOf(TaskInput);
const TOLD = {
  agent: '',
  prompt: 'All that it needs to know: it sees nothing of this conversation',
  description: 'In a few words, for people',
  response_schema: 'JSON Schema, where the answer is to be JSON',
};
