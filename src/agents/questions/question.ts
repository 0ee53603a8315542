import type { Row } from '../../platform/database/index.js';
import { Field } from '../../platform/dto/index.js';
import { Invalid } from '../../platform/errors/index.js';

/** pending until it is answered, its time is over (expired), or it is of no use any more (cancelled). */
export const QUESTION_STATUSES = ['pending', 'answered', 'expired', 'cancelled'] as const;
export type QuestionStatus = (typeof QUESTION_STATUSES)[number];

export const MAX_CHOICES = 10;
export const MAX_ANSWER = 10_000;

/** What the person can choose. */
export class QuestionChoice {
  @Field.text('What is chosen, in a few words', {
    min: 1,
    max: 200,
    pattern: /\S/,
    patternHint: 'must not be blank',
    example: 'PostgreSQL',
  })
  label: string;

  @Field.text('What it comes to, where the label does not say it', {
    max: 500,
    optional: true,
    nullable: true,
    example: 'Needs a server; several people can write at once',
  })
  description?: string | null;
}

/** What a person has answered. */
export interface Answer {
  readonly choices: readonly string[];
  readonly text: string | null;
}

/** A question that an agent asks the person for whom its run works; the run waits for the answer. */
export type QuestionRow = Row<'question'>;

declare global {
  interface ColumnTypes {
    'question.choices': QuestionChoice[];
    'question.answer': Answer;
  }
}

/** The answer, as the question allows it; throws Invalid where it does not. */
export function answerTo(
  { choices, multiple, allow_text }: Pick<QuestionRow, 'choices' | 'multiple' | 'allow_text'>,
  given: { choices?: readonly string[]; text?: string },
): Answer {
  const chosen = [...new Set(given.choices ?? [])];
  const text = given.text?.trim() || null;
  const labels = choices.map(({ label }) => label);
  const unknown = chosen.find(label => !labels.includes(label));
  if (unknown !== undefined)
    throw new Invalid(
      labels.length === 0
        ? 'choices: this question has none; answer with text'
        : `choices: ${unknown} is none of them; there are ${labels.join(', ')}`,
    );
  if (chosen.length > 1 && !multiple) throw new Invalid('choices: this question takes one of them');
  if (text !== null && !allow_text)
    throw new Invalid(`text: this question is answered by choices alone: ${labels.join(', ')}`);
  if (chosen.length === 0 && text === null)
    throw new Invalid(
      labels.length === 0
        ? 'text is required'
        : `Choose of ${labels.join(', ')}${allow_text ? ', or give a text' : ''}`,
    );
  return { choices: chosen, text };
}

/** How the question came out, as the model reads it. */
export function outcomeText({ status, answer }: Pick<QuestionRow, 'status' | 'answer'>): string {
  if (status === 'answered' && answer) {
    const chosen = answer.choices.length > 0 ? [`Chosen: ${answer.choices.join(', ')}`] : [];
    return [...chosen, ...(answer.text === null ? [] : [`Answer: ${answer.text}`])].join('\n');
  }
  if (status === 'expired')
    return 'No one answered in time. Decide yourself, take the choice that is easiest to change later, and say in your answer what you assumed.';
  return 'The question was withdrawn before it was answered, because something else came in. Read that first.';
}

/** For runs in which no person is there to ask. */
export const NOBODY_ASKED =
  'No one is asked in this run. Decide yourself, take the choice that is easiest to change later, and say in your answer what you assumed or what is left open.';
