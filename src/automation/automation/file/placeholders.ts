import { isExactNumber, parseJson, textOf } from '#libs/exact-json/index.js';
import type { Findings } from '#libs/front-matter/index.js';
import { valueAt } from '#libs/value-filter/index.js';

const PLACEHOLDER = /\{\{\s*([^{}]{0,200}?)\s*\}\}/g;
const KNOWN = /^(?:input(?:\.[\w-]+)+|trigger\.kind|run\.(?:scheduled_for|id))$/;
const MAX_CHARACTERS = 500;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it removes.
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;

/** What the placeholders of a prompt stand for. */
export interface PlaceholderValues {
  readonly input: unknown;
  readonly trigger: { readonly kind: string };
  readonly run: { readonly id: string; readonly scheduled_for: string | null };
}

/** A line that gives a value and nothing else: behind a label, as an item, quoted, or in a table. */
const GIVES_VALUES =
  /^\s*(?:[-*+>|]|\d+[.)]|#|`)|:\s*(?:["'`(]?\{\{[^{}]*\}\}["'`),.;]?\s*)+$|^\s*(?:\{\{[^{}]*\}\}\s*)+$/;
const FROM_OUTSIDE = /\{\{\s*input\./;

/** Reports placeholders that stand for nothing, and what came in where it would be read as part of an instruction. */
export function checkPlaceholders(prompt: string, firstLine: number, findings: Findings): void {
  prompt.split('\n').forEach((line, index) => {
    if (FROM_OUTSIDE.test(line) && !GIVES_VALUES.test(line))
      findings.warn(
        'What comes in stands within an instruction, and may read as a part of it',
        firstLine + index,
        'Put it on a line of its own, such as Title: {{ input.title }}',
      );
    for (const [, name = ''] of line.matchAll(PLACEHOLDER))
      if (!KNOWN.test(name))
        findings.error(
          `{{ ${name} }} stands for nothing`,
          firstLine + index,
          'There are {{ input.field }}, {{ trigger.kind }}, {{ run.scheduled_for }} and {{ run.id }}',
        );
  });
}

/**
 * The prompt with its placeholders filled in. Each gives one value as JSON: text in quotes, of at most 500 characters and without
 * control characters; null for what is absent or no single value.
 */
export function fillIn(prompt: string, values: PlaceholderValues): string {
  return prompt.replaceAll(PLACEHOLDER, (whole, name: string) =>
    KNOWN.test(name) ? scalarOf(valueAt(values, name.split('.'))) : whole,
  );
}

/** As {@link fillIn}, where the input is JSON that was not read yet; null: there is none. */
export function fillInJson({ prompt, text, values }: JsonToFillIn): string {
  return fillIn(prompt, { ...values, input: text === null ? null : parseJson(text) });
}

interface JsonToFillIn {
  readonly prompt: string;
  readonly text: string | null;
  readonly values: Omit<PlaceholderValues, 'input'>;
}

function scalarOf(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'boolean' || isExactNumber(value)) return textOf(value);
  if (typeof value !== 'string') return 'null';
  return JSON.stringify(value.replaceAll(CONTROL, ' ').slice(0, MAX_CHARACTERS).toWellFormed());
}
