import { ById, Field, PageInput, PageOf } from '../../../platform/dto/index.js';

const STATES = ['received', 'written', 'spam'] as const;
const STATE =
  'received: kept, and yet to be written to the file; written: it is there; spam: kept for review, and not written';

export class ListSubmissions extends PageInput {
  @Field.id('The form') id: string;
  @Field.choice(STATE, STATES, { optional: true, shown: true }) state?: (typeof STATES)[number];
}

export class ExportForm extends ById({ id: 'The form' }) {
  @Field.choice('As a table or as JSON', ['csv', 'json'], { optional: true, default: 'csv' })
  format?: 'csv' | 'json';

  @Field.choice('What columns of the table are called', ['id', 'label'], { optional: true, default: 'id' })
  headers?: 'id' | 'label';

  @Field.boolean('Whether the table begins with a byte order mark, by which Excel knows UTF-8', {
    optional: true,
    default: false,
  })
  bom?: boolean;
}

export class HandedFileView {
  @Field.text('The field', { example: 'cv' }) field: string;
  @Field.text('Its name', { example: 'cv.pdf' }) name: string;
  @Field.integer('Bytes', { example: 48_213 }) size: number;

  @Field.text('Where it is in the workspace; null until it is written', {
    nullable: true,
    example: 'forms/signup.files/0192f3a1-7c1e-7d4a-9b7e-3f2a5c6d7e8f/cv.pdf',
  })
  path: string | null;
}

export class SubmissionView {
  @Field.id('The response') id: string;
  @Field.id('The form') form_id: string;
  @Field.choice(STATE, STATES) state: string;

  @Field.text('Why it is taken for spam', { nullable: true, example: 'It was sent within three seconds' })
  reason: string | null;

  @Field.record('The answers by the ids of fields: texts, numbers, true or false, lists of texts')
  data: object;

  @Field.object('Files that came with it', () => HandedFileView, { list: true }) files: HandedFileView[];

  @Field.text('The same for responses from one address, and for no other form', { example: 'Zk3…' })
  sender: string;

  @Field.time('When it was handed in') received_at: string;
  @Field.time('When it was written to the file', { nullable: true }) written_at: string | null;
}

export const SubmissionPage = PageOf(SubmissionView, 'SubmissionPage');

export class RebuildView {
  @Field.id('The form') id: string;

  @Field.integer('Responses that are looked for in the file, and added where they are missing', {
    example: 12,
  })
  responses: number;
}
