import { Field } from '../../platform/dto/index.js';
import { WorkspaceId } from '../core/index.js';

export class DuplicateWorkspace extends WorkspaceId {
  @Field.text('Name of the new workspace', {
    min: 1,
    max: 120,
    pattern: /\S/,
    patternHint: 'must not be blank',
    example: 'Research (copy)',
  })
  name: string;

  @Field.id('The organization it is to belong to; absent: the same', { optional: true })
  organization_id?: string;
}

export class StartedOperationView {
  @Field.id('The operation, to be watched below /api/operations')
  operation_id: string;
}
