import { Field } from '../../platform/dto/index.js';
import { AGENT_NAME, type Subagent } from '../subagents/index.js';

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

/** The tool as it is offered to a model that may hand work to these agents. */
export function taskTool(agents: readonly Subagent[]) {
  const list = agents.map(({ name, description }) => `- ${name}: ${description.slice(0, MOST_SHOWN)}`);
  const description = `Hand a task to a subagent, which works on it by itself, in the same files, and answers with its result. Calls made together are worked on at the same time. The agents:\n${list.join('\n')}`;
  return { name: TASK, description, input: TaskInput };
}
