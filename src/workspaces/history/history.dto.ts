import { UNKEPT } from '#libs/git-history/index.js';
import { Field, PageOf } from '../../platform/dto/index.js';
import { WriterView } from '../changes/index.js';
import { ListOfWorkspace, WorkspaceId } from '../core/index.js';
import { VERSION_KINDS } from './draft.js';

const PATH = { max: 4096, example: 'notes/plan.md' };
const DIFF = '--- a/notes/plan.md\n+++ b/notes/plan.md\n@@ -1 +1 @@\n-teh plan\n+the plan\n';

export class ListHistory extends ListOfWorkspace {
  @Field.text(
    'A file, or a folder: what is below it; also from before it was moved there; absent: the whole workspace',
    {
      ...PATH,
      optional: true,
    },
  )
  path?: string;

  @Field.id('Only what this run of an agent wrote', { optional: true }) run_id?: string;
}

export class VersionId extends WorkspaceId {
  @Field.id('The version') version: string;
}

export class DiffVersions extends VersionId {
  @Field.id(
    'Compare with this version; absent: the one before it, of a file that was moved at the path it had',
    { optional: true },
  )
  against?: string;
}

export class RestoreFile extends VersionId {
  @Field.text('Where to put it: the path it had, or another', { ...PATH, min: 1 }) path: string;
}

export class VersionView {
  @Field.id('The version') id: string;
  @Field.text('Path in the workspace', PATH) path: string;

  @Field.choice('What was done; found: it was there before there was a history', VERSION_KINDS, {
    example: 'modified',
  })
  kind: string;

  @Field.text('Where it was before it moved', { max: 4096, nullable: true, example: null })
  from: string | null;

  @Field.integer('Bytes; null where it was deleted', { nullable: true, example: 812 }) size: number | null;
  @Field.text('Entity tag that it had', { nullable: true, example: '"1f-6a"' }) etag: string | null;
  @Field.boolean('Whether its content is kept, to be read and restored') kept: boolean;

  @Field.choice(
    'Why its content is not kept: it is gone, over history_file_bytes in WORKSPACE_LIMITS, was written over at once, or there was no room',
    UNKEPT,
    { nullable: true, example: null },
  )
  not_kept_because: string | null;

  @Field.id('The version before it of the same path', { nullable: true }) previous: string | null;

  @Field.object('Who wrote; null: it was there before', () => WriterView, { nullable: true })
  writer: WriterView | null;

  @Field.id('The run it was part of', { nullable: true }) run_id: string | null;
  @Field.time('When') time: string;
}

export const VersionPage = PageOf(VersionView, 'VersionPage');

export class VersionContentView extends VersionView {
  @Field.text('Its text, up to 1 MiB; null where it is no text, larger or not kept: download it instead', {
    nullable: true,
    max: 1_100_000,
    example: 'the plan\n',
  })
  content: string | null;

  @Field.boolean('Whether it is no UTF-8 text; null where its content is not kept', {
    nullable: true,
    example: false,
  })
  binary: boolean | null;
}

export class DiffView {
  @Field.text('Path of the version', PATH) path: string;

  @Field.id('What it is compared with; null: there was no such file', { nullable: true })
  against: string | null;

  @Field.id('The version') version: string;

  @Field.text('A unified diff from the other to this one, up to 1 MiB; empty where they are the same', {
    max: 1_100_000,
    example: DIFF,
  })
  diff: string;

  @Field.boolean('Whether they are compared as bytes: the diff says only that they differ', {
    example: false,
  })
  binary: boolean;

  @Field.boolean('Whether the diff is cut off', { example: false }) truncated: boolean;
  @Field.integer('Lines added', { example: 1 }) additions: number;
  @Field.integer('Lines removed', { example: 1 }) deletions: number;
}

export class FileStateView {
  @Field.id('The version in the history of the file; null where there is none', { nullable: true })
  version: string | null;

  @Field.integer('Bytes', { nullable: true, example: 812 }) size: number | null;
  @Field.text('Entity tag that it had', { nullable: true, example: '"1f-6a"' }) etag: string | null;
  @Field.boolean('Whether its content is kept') kept: boolean;
}

export class FileChangeView {
  @Field.text('Path in the workspace', PATH) path: string;

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
  @Field.text('Path in the workspace', PATH) path: string;
  @Field.choice('What was done', ['restored', 'removed']) action: string;
}

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
