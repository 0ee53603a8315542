import { Injectable, OnModuleInit } from '@nestjs/common';
import { inputSchemaOf } from '#libs/fields/index.js';
import { Field } from '../../platform/dto/index.js';
import { problemOf } from '../../platform/errors/index.js';
import { SKILL, type Skill } from '../subagents/index.js';
import { inputOf } from './field-fault.js';
import {
  failed,
  type ListedTool,
  type ListScope,
  type OpenTools,
  succeeded,
  type ToolProvider,
  type ToolResult,
  type ToolScope,
} from './tool-provider.js';
import { ToolProviders } from './toolbox.js';

class SkillInput {
  @Field.text('Name of the skill', { min: 1, max: 64, example: 'release-notes' }) name: string;
}

const OFFER = {
  name: SKILL,
  description: 'Read the instructions of a skill, before work that it covers.',
  schema: inputSchemaOf(SkillInput),
};

/** The tool by which a model reads the skills of its workspace. */
@Injectable()
export class SkillTools implements ToolProvider, OnModuleInit {
  readonly kind = 'skill';
  readonly needs = 'skills';
  readonly names = [SKILL];

  constructor(private readonly providers: ToolProviders) {}

  onModuleInit(): void {
    this.providers.register(this);
  }

  async list({ guide }: ListScope): Promise<ListedTool[]> {
    const reason = guide.hasSkills ? null : 'No skill is defined in .agents/skills/';
    return [{ ...OFFER, effect: 'read', reason, agentsOnly: true }];
  }

  open({ guide: { skills } }: ToolScope): OpenTools {
    return { offered: [OFFER], call: async (_, input) => read(skills, input) };
  }
}

function read(skills: readonly Skill[], input: unknown): ToolResult {
  try {
    const { name } = inputOf(SKILL, SkillInput, input);
    const skill = skills.find(one => one.name === name);
    if (skill) return succeeded(`Files that it names are in ${skill.folder}/.\n\n${skill.instructions}`);
    const names = skills.map(one => one.name).join(', ');
    return failed(`There is no skill "${name}"; there are ${names || 'none'}`);
  } catch (error) {
    const problem = problemOf(error);
    if (!problem) throw error;
    return failed(problem.detail);
  }
}
