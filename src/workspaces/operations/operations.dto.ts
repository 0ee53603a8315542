import { ById, Field } from '../../platform/dto/index.js';
import { OPERATION_STATES, type Operation } from './operations.store.js';

export class WatchOperation extends ById({ id: 'The operation' }) {
  @Field.integer('Only what follows this number', { min: 0, optional: true, example: 3 }) after?: number;
}

export class OperationResultView {
  @Field.id('The workspace that it made, or read') workspace_id: string;

  @Field.text('How it came out, for kinds that can complete in more than one way', {
    optional: true,
    example: 'published',
  })
  outcome?: string;
}

export class OperationView {
  @Field.id('The operation') id: string;
  @Field.text('What it does', { example: 'workspace_duplicate' }) kind: string;
  @Field.choice('How it stands', OPERATION_STATES) status: string;
  @Field.integer('Files and folders that are done, or objects of git', { example: 12 }) done: number;

  @Field.integer('Files and folders in all; null before they are counted', { nullable: true, example: 40 })
  total: number | null;

  @Field.integer('Bytes that are done', { example: 34567 }) bytes_done: number;

  @Field.integer('Bytes in all; null before they are counted', { nullable: true, example: 99999 })
  bytes_total: number | null;

  @Field.text(
    'What is left out: members, chats, share links and the like, and the paths of links and special files',
    {
      list: true,
      example: ['members'],
    },
  )
  skipped: string[];

  @Field.object('What it made, when it is completed', () => OperationResultView, { nullable: true })
  result: OperationResultView | null;

  @Field.text('Why it failed', { nullable: true, example: null }) error: string | null;
}

export function operationView({ id, kind, state, progress, result, error }: Operation): OperationView {
  const { done = 0, total = null, bytes_done = 0, bytes_total = null, skipped = [] } = progress;
  return {
    id,
    kind,
    status: state,
    done,
    total,
    bytes_done,
    bytes_total,
    skipped: [...skipped],
    result,
    error,
  };
}
