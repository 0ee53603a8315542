import { Injectable } from '@nestjs/common';
import { Database, newId, storable } from '../../platform/database/index.js';
import { assertValid, hydrate } from '../../platform/dto/index.js';
import { Invalid } from '../../platform/errors/index.js';
import { ModelCatalog, ModelsService } from '../models/index.js';
import {
  type CarriedRun,
  type NewTask,
  type PlannedCall,
  type RunJournal,
  type RunLimits,
  TasksStore,
} from '../runs/index.js';
import { type Subagent, SubagentsService } from '../subagents/index.js';
import { TaskRoom } from './task-room.js';
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
