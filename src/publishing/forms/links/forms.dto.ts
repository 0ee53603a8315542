import { ById, Field, PageOf } from '../../../platform/dto/index.js';
import { WorkspaceId } from '../../../workspaces/core/index.js';

const PATH = { min: 1, max: 4096, example: 'forms/feedback.form' };
const EXPIRES = 'When the link ends; null for never';
const PASSWORD = { min: 4, max: 256, format: 'password', example: 'correct horse battery' } as const;
const TIME_OR_NEVER = { optional: true, nullable: true } as const;

export const FORM_STATES = ['open', 'paused', 'closed', 'expired', 'suspended', 'broken'] as const;

export class FormPath extends WorkspaceId {
  @Field.text('The .form file', PATH) path: string;
}

export class ShareForm extends FormPath {
  @Field.time(EXPIRES, TIME_OR_NEVER) expires_at?: string | null;

  @Field.text('What visitors must enter', { ...PASSWORD, optional: true, nullable: true })
  password?: string | null;
}

export class UpdateForm extends ById({ id: 'The form' }) {
  @Field.boolean('Whether it takes no responses for now', { optional: true, shown: true }) paused?: boolean;
  @Field.text('Where its file is now, if that was moved', { ...PATH, optional: true }) path?: string;
  @Field.boolean('Give it a new link; the one before never works again', { optional: true }) rotate?: boolean;
  @Field.time(EXPIRES, TIME_OR_NEVER) expires_at?: string | null;

  @Field.text('What visitors must enter from now on; null: nothing', {
    ...PASSWORD,
    optional: true,
    nullable: true,
  })
  password?: string | null;
}

export class FindingView {
  @Field.text('The file', { example: 'signup.form' }) file: string;

  @Field.integer('The line, from 1; null where it is about the whole file', { nullable: true, example: 7 })
  line: number | null;

  @Field.choice('An error keeps the form from being shown', ['error', 'warning']) severity: string;
  @Field.text('What is wrong', { example: '"requird" is not a known key' }) message: string;

  @Field.text('What was probably meant, or what to do', {
    nullable: true,
    example: 'Did you mean "required"?',
  })
  suggestion: string | null;
}

export class FormCheck {
  @Field.boolean('Whether the form can be shown') ok: boolean;
  @Field.text('Its title', { nullable: true, example: 'Sign up' }) title: string | null;
  @Field.object('What is wrong with the file', () => FindingView, { list: true }) findings: FindingView[];

  @Field.text('The columns of its file for responses, in order', { list: true, example: ['submission_id'] })
  columns: string[];

  @Field.text('Where responses are written to', { nullable: true, example: 'forms/signup.csv' })
  output: string | null;
}

export class FormPreview {
  @Field.text('A page that shows the form and stores nothing', {
    secret: true,
    example: 'https://share.atelier.example.com/f/preview/q3Vn…',
  })
  url: string;

  @Field.time('When that page ends') expires_at: string;
}

export class FormView {
  @Field.id('The form') id: string;
  @Field.id('The workspace') workspace_id: string;
  @Field.text('Its .form file', PATH) path: string;
  @Field.text('Its title', { example: 'Sign up' }) title: string;

  @Field.text('Its link; null for callers who may not share forms', {
    nullable: true,
    secret: true,
    example: 'https://share.atelier.example.com/f/q3Vn…',
  })
  url: string | null;

  @Field.choice(
    'broken: its file has mistakes or is gone; suspended: who shared it may no longer do so, or sharing is turned off in the workspace',
    FORM_STATES,
  )
  state: string;

  @Field.text('What is wrong with its file', { nullable: true, example: 'signup.form, line 3: …' })
  problem: string | null;

  @Field.text('Why responses wait to be written to their file', {
    nullable: true,
    example: 'The workspace is full',
  })
  trouble: string | null;

  @Field.boolean('Whether visitors must enter a password') has_password: boolean;
  @Field.time(EXPIRES, { nullable: true }) expires_at: string | null;
  @Field.text('Where responses are written to', { example: 'forms/signup.csv' }) output: string;

  @Field.integer('Responses that are kept beside their file, without those taken for spam', { example: 12 })
  responses: number;

  @Field.integer('Of these, how many are yet to be written to the file', { example: 0 }) waiting: number;
  @Field.integer('How many are taken for spam', { example: 1 }) spam: number;
  @Field.id('Who shared it') created_by: string;
  @Field.time('When it was shared') created_at: string;
  @Field.time('When it was last changed') updated_at: string;
}

export const FormPage = PageOf(FormView, 'FormPage');
