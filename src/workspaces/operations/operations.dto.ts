import { Field } from '../../platform/dto/index.js';
import { isOver, OPERATION_STATUSES, type OperationRow } from './operations.store.js';

export class OperationId {
  @Field.id('The operation')
  id: string;
}

export class WatchOperation extends OperationId {
  @Field.integer('Only what follows this number', { min: 0, optional: true, example: 3 })
  after?: number;
}

export class OperationResultView {
  @Field.id('The new workspace')
  workspace_id: string;
}

export class OperationView {
  @Field.id('The operation')
  id: string;

  @Field.text('What it does', { example: 'workspace_duplicate' })
  kind: string;

  @Field.choice('How it stands', OPERATION_STATUSES)
  status: string;

  @Field.integer('Files and folders that are done', { example: 12 })
  done: number;

  @Field.integer('Files and folders in all; null before they are counted', { nullable: true, example: 40 })
  total: number | null;

  @Field.integer('Bytes that are done', { example: 34567 })
  bytes_done: number;

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

  @Field.text('Why it failed', { nullable: true, example: null })
  error: string | null;
}

export function operationView(row: OperationRow): OperationView {
  const { id, kind, status, done, total, skipped, error } = row;
  return {
    id,
    kind,
    status,
    done,
    total,
    bytes_done: Number(row.bytes_done),
    bytes_total: row.bytes_total === null ? null : Number(row.bytes_total),
    skipped,
    result: isOver(row) && status === 'completed' ? { workspace_id: row.target_id } : null,
    error,
  };
}
