import { Findings, type Reading } from './finding.js';
import { FrontMatter } from './front-matter.js';

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

const NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/;
const MOST_NAME = 64;
const MOST_DESCRIPTION = 1024;
const MOST_COMPATIBILITY = 500;
const KEYS = ['name', 'description', 'license', 'compatibility', 'metadata', 'allowed-tools'];

/** Reads a skill from its SKILL.md. As its format advises, what leaves it usable is a warning. */
export function readSkill(path: string, text: string): Reading<Skill> {
  const findings = new Findings(path);
  const folder = path.split('/').slice(0, -1).join('/');
  const folderName = folder.split('/').at(-1) ?? folder;
  const matter = FrontMatter.read(text, findings);
  matter.expect(KEYS, 'warn');
  const name = matter.text('name') ?? folderName;
  const description = matter.text('description') ?? '';
  if (matter.lineOf('name') === null)
    findings.warn('name is missing', 1, `Add the line "name: ${folderName}"`);
  if (name.length > MOST_NAME || !NAME.test(name))
    findings.error(
      `name "${name.slice(0, 100)}" must be ${MOST_NAME} characters at most: lower-case letters, digits and single hyphens between them`,
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
  if (description.length > MOST_DESCRIPTION)
    findings.error(
      `description must be ${MOST_DESCRIPTION} characters at most`,
      matter.lineOf('description'),
    );
  checkOptional(matter, findings);
  const skill = { name, description, folder, instructions: matter.body };
  return { path, name, value: findings.hasErrors ? null : skill, findings: findings.all };
}

function checkOptional(matter: FrontMatter, findings: Findings): void {
  const compatibility = matter.value('compatibility');
  if (
    compatibility !== undefined &&
    (typeof compatibility !== 'string' || compatibility.length > MOST_COMPATIBILITY)
  )
    findings.warn(
      `compatibility must be text of ${MOST_COMPATIBILITY} characters at most`,
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
