import { Field } from '../../platform/dto/index.js';

const PATH = { max: 4096, example: 'notes/plan.md' };

/** A file at one end of a run. */
export class FileStateView {
  @Field.id('The version in the history of the file; null where there is none', { nullable: true })
  version: string | null;

  @Field.integer('Bytes', { nullable: true, example: 812 })
  size: number | null;

  @Field.text('Entity tag that it had', { nullable: true, example: '"1f-6a"' })
  etag: string | null;

  @Field.boolean('Whether its content is kept')
  kept: boolean;
}

/** What a run made of one file. */
export class FileChangeView {
  @Field.text('Path in the workspace', PATH)
  path: string;

  @Field.choice('What was done in all', ['created', 'modified', 'deleted'], { example: 'modified' })
  kind: string;

  @Field.object('The file before the run wrote; null: there was none', () => FileStateView, {
    nullable: true,
  })
  before: FileStateView | null;

  @Field.object('The file after the run wrote last; null: it is gone', () => FileStateView, {
    nullable: true,
  })
  after: FileStateView | null;
}

export class RevertedFileView {
  @Field.text('Path in the workspace', PATH)
  path: string;

  @Field.choice('What was done', ['restored', 'removed'])
  action: string;
}

/** What came of taking a run's changes back. */
export class RevertedView {
  @Field.object('Files that are now as they were before the run', () => RevertedFileView, { list: true })
  reverted: RevertedFileView[];

  @Field.text('Files left alone because somebody changed them since, or their content was not kept', {
    list: true,
    max: 4096,
    example: [],
  })
  skipped: string[];
}
