import { Field } from '../dto/index.js';

/** The body of every error. */
export class ProblemView {
  @Field.text('What is wrong, in one sentence a person can act on', { example: 'No such workspace' })
  detail: string;
}
