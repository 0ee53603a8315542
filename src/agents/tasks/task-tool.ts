import { Injectable, OnModuleInit } from '@nestjs/common';
import { inputSchemaOf } from '../../platform/actions/index.js';
import { Field } from '../../platform/dto/index.js';
import { AGENT_NAME, type Subagent } from '../subagents/index.js';
import {
  type ListedTool,
  type ListScope,
  type OpenTools,
  type ToolOffer,
  type ToolProvider,
  ToolProviders,
  type ToolScope,
} from '../tools/index.js';
import { TaskRoom } from './task-room.js';

/** The tool by which an agent hands work to a subagent. */
export const TASK = 'task';

/** Longest description of an agent that is shown to those who may hand it work, in characters. */
const MOST_SHOWN = 500;

export class TaskInput {
  @Field.text('Name of the agent', { ...AGENT_NAME, min: 1 })
  agent: string;

  @Field.text('All that it needs to know: it sees nothing of this conversation', {
    min: 1,
    max: 1_000_000,
    pattern: /\S/,
    patternHint: 'must not be blank',
    example: 'Check notes/plan.md for dates that have passed, and list them.',
  })
  prompt: string;

  @Field.text('The task in a few words, for people to see', {
    max: 200,
    optional: true,
    example: 'Check dates',
  })
  description?: string;
}

/** The tool by which agents hand work to the subagents of their workspace. */
@Injectable()
export class TaskTools implements ToolProvider, OnModuleInit {
  readonly kind = 'task';
  readonly names = [TASK];

  constructor(
    private readonly providers: ToolProviders,
    private readonly room: TaskRoom,
  ) {}

  onModuleInit(): void {
    this.providers.register(this);
  }

  async list({ guide: { colleagues } }: ListScope): Promise<ListedTool[]> {
    const reason =
      colleagues.length > 0 ? null : 'No agent is defined in .agents/ to which a task could be handed';
    return [{ ...offerFor(colleagues), effect: 'write', reason, agentsOnly: true }];
  }

  open({ guide, depth }: ToolScope): OpenTools {
    const { colleagues } = guide;
    const isOffered = this.room.reaches(depth) && colleagues.length > 0 && guide.allows(TASK);
    return {
      offered: isOffered ? [offerFor(colleagues)] : [],
      call: (_tool, _input, { handOver }) => handOver(),
    };
  }
}

function offerFor(agents: readonly Subagent[]): ToolOffer {
  const list = agents.map(({ name, description }) => `- ${name}: ${description.slice(0, MOST_SHOWN)}`);
  const description = `Hand a task to a subagent, which works on it by itself, in the same files, and answers with its result. Calls made together are worked on at the same time. The agents:\n${list.join('\n')}`;
  return { name: TASK, description, schema: SCHEMA };
}

const SCHEMA = inputSchemaOf(TaskInput);
