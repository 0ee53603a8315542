import { didYouMean } from '#libs/did-you-mean/index.js';
import { type Finding, Findings, FrontMatter } from '#libs/front-matter/index.js';

/** What was read from one file: what it defines, unless an error keeps it from defining anything. */
export interface Reading<T> {
  readonly path: string;
  /** The name of what it defines or would define, as far as that is known. */
  readonly name: string;
  readonly value: T | null;
  readonly findings: readonly Finding[];
}

/** An agent defined in a workspace: its instructions, and what limits it. */
export interface Subagent {
  readonly name: string;
  readonly description: string;
  /** Names or globs of the tools it may call. */
  readonly tools: readonly string[];
  readonly model: string | null;
  readonly maxSteps: number | null;
  readonly instructions: string;
}

/** An agent as it was when what starts it was deployed. */
export interface PinnedAgent extends Subagent {
  /** Nobody is there to be asked, and the message holds data from elsewhere. */
  readonly isUnattended: true;
}

/** What an agent may call when its file does not say: nothing that changes anything. */
export const READ_ONLY_TOOLS = ['read_file', 'list_files', 'find_files', 'search_files', 'skill'] as const;

const AGENT_PATTERN = /^[a-z0-9][a-z0-9_-]{0,63}$/i;
const AGENT_FIELDS = ['name', 'description', 'tools', 'model', 'max_steps'];

/** Reads an agent from its Markdown file: YAML front matter, then the instructions. The file's own name is its default name. */
export function readSubagent(path: string, text: string): Reading<Subagent> {
  const findings = new Findings(path);
  const matter = FrontMatter.read(text, findings);
  matter.expect(AGENT_FIELDS, 'error', didYouMean);
  const fileName = (path.split('/').at(-1) ?? path).replace(/\.md$/, '');
  const name = matter.text('name') ?? fileName;
  if (!AGENT_PATTERN.test(name))
    findings.error(
      `name "${name}" may hold letters, digits, _ and - only, at most 64`,
      matter.lineOf('name') ?? 1,
    );
  else if (name !== fileName)
    findings.warn(
      `name "${name}" is not that of the file`,
      matter.lineOf('name'),
      `Call the file ${name}.md`,
    );
  const description = matter.text('description') ?? '';
  if (description === '')
    findings.warn(
      'There is no description, by which other agents know what to hand to this one',
      1,
      'Add a line such as "description: Reviews texts for mistakes"',
    );
  if (matter.body === '') findings.warn('There are no instructions below the front matter');
  const agent: Subagent = {
    name,
    description,
    tools: toolsOf(matter, findings),
    model: matter.text('model') ?? null,
    maxSteps: maxStepsOf(matter, findings),
    instructions: matter.body,
  };
  return { path, name, value: findings.hasErrors ? null : agent, findings: findings.all };
}

function toolsOf(matter: FrontMatter, findings: Findings): readonly string[] {
  const value = matter.value('tools');
  if (value === undefined) return READ_ONLY_TOOLS;
  const list =
    typeof value === 'string'
      ? value
          .split(',')
          .map(tool => tool.trim())
          .filter(Boolean)
      : value;
  if (Array.isArray(list) && list.every(tool => typeof tool === 'string')) return list;
  findings.error('tools must be a list of tool names', matter.lineOf('tools'), 'tools: [read_file, bash]');
  return [];
}

function maxStepsOf(matter: FrontMatter, findings: Findings): number | null {
  const value = matter.value('max_steps');
  if (value === undefined) return null;
  if (Number.isInteger(value) && Number(value) >= 1) return Number(value);
  findings.error('max_steps must be a whole number from 1', matter.lineOf('max_steps'));
  return null;
}

/** The tool by which a model reads a skill. */
export const SKILL = 'skill';

/** A folder of instructions that a model reads when it needs them (https://agentskills.io/specification). */
export interface Skill {
  readonly name: string;
  readonly description: string;
  /** Folder of the skill, with what else belongs to it. */
  readonly folder: string;
  readonly instructions: string;
}

const SKILL_PATTERN = /^[a-z0-9]+(-[a-z0-9]+)*$/;
const MAX_NAME = 64;
const MAX_DESCRIPTION = 1024;
const MAX_COMPATIBILITY = 500;
const SKILL_FIELDS = ['name', 'description', 'license', 'compatibility', 'metadata', 'allowed-tools'];

/** Reads a skill from its SKILL.md. As its format advises, what leaves it usable is a warning. */
export function readSkill(path: string, text: string): Reading<Skill> {
  const findings = new Findings(path);
  const folder = path.split('/').slice(0, -1).join('/');
  const folderName = folder.split('/').at(-1) ?? folder;
  const matter = FrontMatter.read(text, findings);
  matter.expect(SKILL_FIELDS, 'warn', didYouMean);
  const name = matter.text('name') ?? folderName;
  const description = matter.text('description') ?? '';
  if (matter.lineOf('name') === null)
    findings.warn('name is missing', 1, `Add the line "name: ${folderName}"`);
  if (name.length > MAX_NAME || !SKILL_PATTERN.test(name))
    findings.error(
      `name "${name.slice(0, 100)}" must be ${MAX_NAME} characters at most: lower-case letters, digits and single hyphens between them`,
      matter.lineOf('name') ?? 1,
    );
  else if (name !== folderName)
    findings.warn(
      `name "${name}" is not that of its folder "${folderName}"`,
      matter.lineOf('name'),
      `Call the folder ${name}`,
    );
  if (description === '')
    findings.error(
      'description is missing, by which a model knows when to use the skill',
      matter.lineOf('description') ?? 1,
    );
  if (description.length > MAX_DESCRIPTION)
    findings.error(`description must be ${MAX_DESCRIPTION} characters at most`, matter.lineOf('description'));
  checkOptional(matter, findings);
  const skill = { name, description, folder, instructions: matter.body };
  return { path, name, value: findings.hasErrors ? null : skill, findings: findings.all };
}

function checkOptional(matter: FrontMatter, findings: Findings): void {
  const compatibility = matter.value('compatibility');
  if (
    compatibility !== undefined &&
    (typeof compatibility !== 'string' || compatibility.length > MAX_COMPATIBILITY)
  )
    findings.warn(
      `compatibility must be text of ${MAX_COMPATIBILITY} characters at most`,
      matter.lineOf('compatibility'),
    );
  const metadata = matter.value('metadata');
  if (metadata !== undefined && (typeof metadata !== 'object' || Array.isArray(metadata)))
    findings.warn('metadata must be lines of "key: value"', matter.lineOf('metadata'));
  if (matter.value('allowed-tools') !== undefined)
    findings.warn(
      'allowed-tools does not widen what an agent may use here; the tools of the agent decide',
      matter.lineOf('allowed-tools'),
    );
}
