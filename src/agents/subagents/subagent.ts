import { Findings, type Reading } from './finding.js';
import { FrontMatter } from './front-matter.js';

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

/** What an agent may call when its file does not say: nothing that changes anything. */
export const READ_ONLY_TOOLS = ['read_file', 'list_files', 'search_files', 'skill'] as const;

const NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/i;
const KEYS = ['name', 'description', 'tools', 'model', 'max_steps'];

/** Reads an agent from its Markdown file: YAML front matter, then the instructions. The file's own name is its default name. */
export function readSubagent(path: string, text: string): Reading<Subagent> {
  const findings = new Findings(path);
  const matter = FrontMatter.read(text, findings);
  matter.expect(KEYS, 'error');
  const fileName = (path.split('/').at(-1) ?? path).replace(/\.md$/, '');
  const name = matter.text('name') ?? fileName;
  if (!NAME.test(name))
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
