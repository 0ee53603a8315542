import { ById, Field, PageInput, PageOf } from '../../platform/dto/index.js';
import { MAX_ANSWER, MAX_CHOICES, QUESTION_STATUSES, QuestionChoice } from './question.js';

export class ListQuestions extends PageInput {
  @Field.id('Only those of this chat', { optional: true }) chat_id?: string;

  @Field.id('Only those of this workspace; with neither, those that you are asked', { optional: true })
  workspace_id?: string;

  @Field.choice('Only those that stand so', QUESTION_STATUSES, { optional: true, example: 'pending' })
  status?: (typeof QUESTION_STATUSES)[number];
}

const LABEL = { min: 1, max: 200, list: true, maxItems: MAX_CHOICES, example: ['PostgreSQL'] } as const;

export class AnswerQuestion extends ById({ question_id: 'The question' }) {
  @Field.text('The labels of what is chosen: one, or several where the question is multiple', {
    ...LABEL,
    optional: true,
    shown: true,
  })
  choices?: string[];

  @Field.text('What there is to say in your own words, where the question allows it', {
    max: MAX_ANSWER,
    optional: true,
    example: 'The one that is on the server already',
  })
  text?: string;
}

export class AnswerView {
  @Field.text('The labels of what was chosen', LABEL) choices: string[];

  @Field.text('In their own words', { max: MAX_ANSWER, nullable: true, example: 'The one on the server' })
  text: string | null;
}

/** A question that a run waits to have answered. */
export class OpenQuestionView {
  @Field.id('The question') id: string;
  @Field.id('The run that asks: the one that waits, or a task of it') call_id: string;
  @Field.text('What is asked', { example: 'Which database is it to be?' }) question: string;

  @Field.object('What can be chosen; none: the answer is a text', () => QuestionChoice, {
    list: true,
    maxItems: MAX_CHOICES,
  })
  choices: QuestionChoice[];

  @Field.boolean('Whether several can be chosen', { example: false }) multiple: boolean;

  @Field.boolean('Whether a text is taken, beside a choice or instead of one', { example: true })
  allow_text: boolean;

  @Field.id('Who is asked: the person for whom the run works') asked_of: string;

  @Field.text('The page on which a person answers', {
    example: 'https://atelier.example/questions/0192f3a1-7c1e-7d4a-9b7e-3f2a5c6d7e8f',
  })
  link: string;

  @Field.time('Until when it can be answered; then the run goes on without an answer') expires_at: string;
}

export class QuestionView extends OpenQuestionView {
  @Field.choice('How it stands', QUESTION_STATUSES) status: string;
  @Field.id('Its chat') chat_id: string;
  @Field.id('Its workspace', { nullable: true }) workspace_id: string | null;
  @Field.text("The model's id of the call", { example: 'call_1' }) tool_call_id: string;

  @Field.object('The answer; null: there is none', () => AnswerView, { nullable: true })
  answer: AnswerView | null;

  @Field.id('Who answered', { nullable: true }) answered_by: string | null;
  @Field.time('When it was answered', { nullable: true }) answered_at: string | null;
  @Field.time('When it was asked') created_at: string;
}

export const QuestionPage = PageOf(QuestionView, 'QuestionPage');
