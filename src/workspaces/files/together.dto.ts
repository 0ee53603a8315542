import { Field } from '../../platform/dto/index.js';
import { WorkspaceId } from '../core/index.js';

const PATH = { max: 4096, example: 'notes/plan.md' };
const MAX_EDITS = 100;

export class OneEdit {
  @Field.text('The file; absent: `path` of the request', { ...PATH, min: 1, optional: true }) path?: string;

  @Field.text('Text to replace; must occur exactly once unless replace_all', {
    min: 1,
    max: 1_000_000,
    example: 'teh',
  })
  old_text: string;

  @Field.text('What to put in its place', { max: 1_000_000, example: 'the' }) new_text: string;
  @Field.boolean('Replace every occurrence', { optional: true }) replace_all?: boolean;
}

export class EditFiles extends WorkspaceId {
  @Field.text('The file of the edits that name none', { ...PATH, min: 1, optional: true, shown: true })
  path?: string;

  @Field.object('The edits, each made to what those before it left', () => OneEdit, {
    list: true,
    maxItems: MAX_EDITS,
    example: [{ old_text: 'teh', new_text: 'the' }],
  })
  edits: OneEdit[];
}

export class PatchFiles extends WorkspaceId {
  @Field.text('The patch: from `*** Begin Patch` to `*** End Patch`, or a unified diff', {
    min: 1,
    max: 1_000_000,
    example:
      '*** Begin Patch\n*** Update File: notes/plan.md\n@@ # Plan\n \n-1. Read teh README.\n+1. Read the README.\n*** End Patch',
  })
  patch: string;
}

const KINDS = ['created', 'modified', 'deleted', 'moved'] as const;

export class ChangedFileView {
  @Field.text('Path in the workspace', PATH) path: string;
  @Field.choice('What became of it', KINDS) kind: (typeof KINDS)[number];

  @Field.text('Where it was before; null unless it was moved', { max: 4096, nullable: true, example: null })
  from: string | null;

  @Field.integer('Size in bytes; null where it is gone', { nullable: true, example: 812 })
  size: number | null;

  @Field.text('Changes whenever the content does; null where it is gone', {
    nullable: true,
    example: '"1f-6a"',
  })
  etag: string | null;

  @Field.text('The changes with the lines around them, each after its number; long ones are cut', {
    example: '11\t# Plan\n12\tthe first step',
  })
  excerpt: string;

  @Field.text(
    'What is to be known about it beside that: where lines of a patch were found although they differ a little',
    {
      list: true,
      example: [],
    },
  )
  notes: string[];
}

export class ChangedFilesView {
  @Field.object('The files that changed', () => ChangedFileView, { list: true, maxItems: 200 })
  files: ChangedFileView[];
}

const LETTERS = { created: 'A', modified: 'M', deleted: 'D', moved: 'R' };
/** Of the excerpts together, for a model. */
const MAX_EXCERPTS = 12_000;

/** The outcome as models read it. */
export const togetherTexts = {
  text({ files }: ChangedFilesView): string {
    if (files.length === 0) return 'Nothing changed: the files are like that already';
    let room = MAX_EXCERPTS;
    return files
      .map(({ path, kind, from, excerpt, notes }) => {
        const head = `${LETTERS[kind]} ${from === null ? '' : `${from} → `}${path}`;
        const fits = excerpt.length <= room;
        if (fits) room -= excerpt.length;
        return [head, ...notes, ...(excerpt !== '' && fits ? [excerpt] : [])].join('\n');
      })
      .join('\n');
  },

  changed: ({ files }: ChangedFilesView): string[] =>
    files.flatMap(({ path, from }) => (from === null ? [path] : [from, path])),
};
