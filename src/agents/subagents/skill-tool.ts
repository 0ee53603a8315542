import { Field } from '../../platform/dto/index.js';
import { failed, type ToolResult } from '../tools/index.js';
import type { Skill } from './skill.js';

/** The tool by which a model reads a skill. */
export const SKILL = 'skill';

export class SkillInput {
  @Field.text('Name of the skill', { min: 1, max: 64, example: 'release-notes' })
  name: string;
}

export const SKILL_TOOL = {
  name: SKILL,
  description: 'Read the instructions of a skill, before work that it covers.',
  input: SkillInput,
};

export function openSkill(skills: readonly Skill[], { name }: SkillInput): ToolResult {
  const skill = skills.find(one => one.name === name);
  if (!skill) {
    const names = skills.map(one => one.name).join(', ');
    return failed(`There is no skill "${name}"; there are ${names || 'none'}`);
  }
  const { folder, instructions } = skill;
  return { output: `Files that it names are in ${folder}/.\n\n${instructions}`, isError: false };
}
