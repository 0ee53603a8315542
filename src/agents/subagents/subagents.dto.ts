import { Field } from '../../platform/dto/index.js';

import { MODEL } from '../models/index.js';

export const AGENT_NAME = { max: 64, example: 'reviewer' };
const PATH = { max: 4096, example: '.agents/reviewer.md' };
const DESCRIPTION = { max: 65_536, example: 'Reviews texts for mistakes' };

export class FindingView {
  @Field.text('The file', PATH) file: string;

  @Field.integer('The line, from 1; null: the file as a whole', { nullable: true, example: 4 })
  line: number | null;

  @Field.choice('An error keeps the file from being used', ['error', 'warning']) severity: string;

  @Field.text('What is wrong', {
    max: 70_000,
    example: '"tool" is not a known key; there are name, description, tools, model, max_steps',
  })
  message: string;

  @Field.text('What was probably meant, or what to do', { nullable: true, example: 'Did you mean "tools"?' })
  suggestion: string | null;
}

export class SubagentView {
  @Field.text('Its name, as `agent_name` takes it', { ...AGENT_NAME, max: 65_536 }) name: string;
  @Field.text('What it is for', DESCRIPTION) description: string;
  @Field.text('The file that defines it', PATH) path: string;

  @Field.text('Names or globs of the tools it may call', { list: true, example: 'read_file' })
  tools: string[];

  @Field.text('Its model; null: that of its chat, or of who hands it a task', { ...MODEL, nullable: true })
  model: string | null;

  @Field.integer('Most model calls of one of its runs', { nullable: true, example: 20 })
  max_steps: number | null;

  @Field.boolean('Whether it can be used', { example: true }) valid: boolean;
  @Field.object('What is wrong with it', () => FindingView, { list: true }) findings: FindingView[];
}

export class SkillView {
  @Field.text('Its name', { max: 65_536, example: 'release-notes' }) name: string;
  @Field.text('What it does, and when to use it', DESCRIPTION) description: string;
  @Field.text('Its SKILL.md', { max: 4096, example: '.agents/skills/release-notes/SKILL.md' }) path: string;
  @Field.boolean('Whether it is offered to models', { example: true }) valid: boolean;
  @Field.object('What is wrong with it', () => FindingView, { list: true }) findings: FindingView[];
}

export class InstructionsView {
  @Field.text('The file', { example: 'AGENTS.md' }) path: string;
  @Field.integer('Its size in bytes', { example: 812 }) bytes: number;
  @Field.boolean('Whether only its beginning is read', { example: false }) truncated: boolean;
}

export class AgentListView {
  @Field.object('The subagents of `.agents/` and `.agents/agents/`', () => SubagentView, { list: true })
  items: SubagentView[];

  @Field.object('The skills of `.agents/skills/`', () => SkillView, { list: true }) skills: SkillView[];

  @Field.object('The instructions that every agent here gets', () => InstructionsView, { nullable: true })
  instructions: InstructionsView | null;

  @Field.object('What is wrong with neither an agent nor a skill', () => FindingView, { list: true })
  findings: FindingView[];
}
