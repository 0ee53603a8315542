import { randomBytes } from 'node:crypto';
import type { Criterion, Goal, IterationRow } from '../records/index.js';

/** Text from elsewhere, which whoever wrote it cannot end. */
export function fenced(name: string, text: string): string {
  const fence = `${name}-${randomBytes(9).toString('base64url')}`;
  return `<${fence}>\n${text}\n</${fence}>`;
}

/** What must hold, as the agent is told it. */
export function goalWords({ check, schema, rubric }: Goal): string {
  const parts: string[] = [];
  if (check)
    parts.push(
      `A check${check.path === null ? '' : ` (${check.path}, as it was when the loop began)`} ends with exit code 0 on the files of the workspace.`,
    );
  if (schema)
    parts.push('Your last message is one JSON value, valid against the JSON Schema that you were given.');
  if (rubric)
    parts.push(
      `A grader who sees your last message and the files, and nothing else of this conversation, finds each of these met:\n${rubric.criteria.map(criterionWords).join('\n')}`,
    );
  return parts.map(part => `- ${part.replaceAll('\n', '\n  ')}`).join('\n');
}

const criterionWords = ({ id, text }: Criterion): string => `${id}: ${text}`;

/** What an iteration left unmet, as the agent of the next one is told it. */
export function unmetWords(
  { rubric }: Goal,
  { checks, verdict }: Pick<IterationRow, 'checks' | 'verdict'>,
): string {
  const failed = checks.filter(({ met }) => !met);
  const parts = failed.map(({ kind, detail }) =>
    kind === 'check'
      ? `The check failed. The end of what it printed:\n${fenced('output', detail)}`
      : `Your last message is not what the JSON Schema asks for:\n${fenced('faults', detail)}`,
  );
  for (const { id, met, evidence } of verdict?.criteria ?? []) {
    if (met) continue;
    const text = rubric?.criteria.find(criterion => criterion.id === id)?.text ?? '';
    parts.push(`${id} is not met: ${text}\nWhat the grader found:\n${fenced('evidence', evidence)}`);
  }
  return parts.map(part => `- ${part.replaceAll('\n', '\n  ')}`).join('\n');
}
