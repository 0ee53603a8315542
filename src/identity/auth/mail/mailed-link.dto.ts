import { Field } from '../../../platform/dto/index.js';

export const LINK_TOKEN = { min: 1, max: 200, example: 'b4Xy…' };

export class ChangedView {
  @Field.boolean('Always true')
  changed: true;
}
