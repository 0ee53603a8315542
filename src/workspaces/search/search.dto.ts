import { Field, PageOf } from '../../platform/dto/index.js';
import { ListOfWorkspace } from '../core/index.js';

const PLACES = ['content', 'names'] as const;
const SORTS = ['path', 'newest'] as const;

export class SearchWorkspace extends ListOfWorkspace {
  @Field.text('What to find', { min: 1, max: 1000, example: 'plan' }) q: string;

  @Field.choice(
    'Search the lines of text files, or the names of files and folders (their paths, if q has a slash)',
    PLACES,
    { optional: true, default: 'content' },
  )
  in?: (typeof PLACES)[number];

  @Field.text('A folder to search below, or one file; absent: the whole workspace', {
    max: 4096,
    optional: true,
    example: 'notes',
  })
  path?: string;

  @Field.boolean('q is a regular expression in the syntax of RE2, matched line by line', {
    optional: true,
    default: false,
  })
  regex?: boolean;

  @Field.text('Only files whose name matches this pattern (*, ?, **, {a,b}); their path, if it has a slash', {
    max: 500,
    optional: true,
    example: '*.md',
  })
  glob?: string;

  @Field.boolean('Capital letters matter', { optional: true, default: false }) case_sensitive?: boolean;

  @Field.boolean('Also what .gitignore leaves out, .git and node_modules', { optional: true, default: false })
  ignored?: boolean;

  @Field.integer('So many lines before and after each line that matches', {
    min: 0,
    max: 10,
    optional: true,
    default: 0,
    example: 2,
  })
  context?: number;

  @Field.boolean('Of each file the first line that matches alone, and how many do', {
    optional: true,
    default: false,
  })
  files_only?: boolean;

  @Field.choice('newest: the lines of files that were changed last come first, on one page', SORTS, {
    optional: true,
    default: 'path',
  })
  sort?: (typeof SORTS)[number];
}

export class FindingView {
  @Field.text('Path in the workspace', { max: 4096, example: 'notes/plan.md' }) path: string;

  @Field.integer('The line, from 1; null for a match in the name', { nullable: true, example: 3 })
  line: number | null;

  @Field.text('The line, of a long one the part around the match; of a name, the path', {
    max: 4096,
    example: 'The plan for spring',
  })
  excerpt: string;

  @Field.json('Where the excerpt matches: pairs of start and end (exclusive), in UTF-16 units', {
    list: true,
    example: [[4, 8]],
  })
  ranges: readonly (readonly [number, number])[];

  @Field.text('Lines before it, where context was asked for', {
    max: 4096,
    list: true,
    optional: true,
    example: ['# Spring'],
  })
  before?: string[];

  @Field.text('Lines after it, where context was asked for', {
    max: 4096,
    list: true,
    optional: true,
    example: ['Seeds'],
  })
  after?: string[];

  @Field.integer('How many lines of the file match, with files_only', { optional: true, example: 3 })
  count?: number;
}

export class FindingPage extends PageOf(FindingView, 'FindingsPage') {
  declare items: FindingView[];
  declare next_cursor: string | null;

  @Field.text(
    'Files below the folder that were left out, as they are over 8 MiB; each can be named as `path`',
    {
      max: 4096,
      list: true,
      optional: true,
      example: ['logs/pool.log'],
    },
  )
  left_out?: string[];
}
