import { Field } from './field.js';

/** What deleting something answers. */
export class DeletedView {
  @Field.id('What was deleted')
  id: string;

  @Field.boolean('Always true')
  deleted: true;

  static of(id: string): DeletedView {
    return { id, deleted: true };
  }
}
