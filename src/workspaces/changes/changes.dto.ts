import { Field } from '../../platform/dto/index.js';
import { WorkspaceId } from '../core/index.js';
import { CHANGE_KINDS } from './change.js';
import { WRITER_TYPES } from './writer.js';

export class WatchChanges extends WorkspaceId {
  @Field.integer('Only changes after this number; absent: after the Last-Event-ID header, else all', {
    min: 0,
    optional: true,
    example: 17,
  })
  after?: number;
}

export class WriterView {
  @Field.choice('What wrote', WRITER_TYPES) type: string;

  @Field.text(
    'Id of the person, service account, run, share or form; of the run of an automation (/api/automation/runs/{id}); of the person behind a sandbox',
    {
      example: '0192f3a1-7c1e-7d4a-9b7e-3f2a5c6d7e8f',
    },
  )
  id: string;
}

export class ChangeView {
  @Field.integer('From 1, rising by one in each workspace', { example: 17 }) id: number;
  @Field.text('Path in the workspace', { max: 4096, example: 'notes/plan.md' }) path: string;
  @Field.choice('What was done to it', CHANGE_KINDS) kind: string;

  @Field.text('Where it was before it moved', { max: 4096, nullable: true, example: null })
  from: string | null;

  @Field.integer('Bytes of a file; null for a folder, a link, or what is gone', {
    nullable: true,
    example: 812,
  })
  size: number | null;

  @Field.text('Entity tag after the change', { nullable: true, example: '"1f-6a"' }) etag: string | null;
  @Field.object('Who wrote', () => WriterView) writer: WriterView;
  @Field.id('The run it was part of', { nullable: true }) run_id: string | null;
  @Field.time('When') time: string;
}
