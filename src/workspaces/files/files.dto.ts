import { Field, PageOf } from '../../platform/dto/index.js';
import { ListOfWorkspace, WorkspaceId } from '../core/index.js';

const PATH = { max: 4096, example: 'notes/plan.md' };
const FOLDER = { max: 4096, example: 'notes' };
const SORTS = ['path', 'newest'] as const;
const DOCUMENTS = ['pdf', 'notebook'] as const;
const ENTRY_TYPES = ['file', 'directory', 'symlink', 'other'] as const;

export class ListFiles extends ListOfWorkspace {
  @Field.text('The folder; absent or empty: the whole workspace', { ...FOLDER, optional: true })
  path?: string;

  @Field.boolean('Also what its folders hold', { optional: true, default: false }) recursive?: boolean;

  @Field.boolean('With recursive also what .gitignore leaves out; default true, for agents false', {
    optional: true,
  })
  ignored?: boolean;

  @Field.choice('newest: the last changed first, on one page', SORTS, { optional: true, default: 'path' })
  sort?: (typeof SORTS)[number];

  @Field.boolean('Instead of pages a tree that fits limit, with counts; default false, for agents true', {
    optional: true,
  })
  tree?: boolean;
}

export class FindFiles extends ListOfWorkspace {
  @Field.text(
    'A pattern for names (*.ts), or with a slash for paths (src/**/*.spec.ts): *, ?, **, {a,b}; without any of these a part of the name',
    { min: 1, max: 500, example: '*.md' },
  )
  pattern: string;

  @Field.text('The folder to look below; absent: the whole workspace', { ...FOLDER, optional: true })
  path?: string;

  @Field.choice('Only these', ['file', 'directory'], { optional: true }) type?: 'file' | 'directory';

  @Field.boolean('Also what .gitignore leaves out, and what .git, node_modules and .atelier hold', {
    optional: true,
    default: false,
  })
  ignored?: boolean;

  @Field.choice('newest: the last changed first, on one page', SORTS, { optional: true, default: 'path' })
  sort?: (typeof SORTS)[number];
}

export class FilePath extends WorkspaceId {
  @Field.text('Path in the workspace', { ...PATH, min: 1 }) path: string;
}

export class StatFile extends WorkspaceId {
  @Field.text('Path in the workspace; empty: its root', PATH) path: string;
}

export class ReadContent extends FilePath {
  @Field.integer('First line to return, from 1', { min: 1, optional: true, example: 1 }) start_line?: number;
  @Field.integer('Last line to return', { min: 1, optional: true, example: 200 }) end_line?: number;

  @Field.boolean(
    'A PDF as its text, a notebook (.ipynb) as its cells with their outputs; default false, for agents true',
    { optional: true },
  )
  rendered?: boolean;
}

export class WriteContent extends FilePath {
  @Field.text('The whole new content', { max: 1_000_000_000, example: '# Plan\n' }) content: string;

  @Field.choice('How content is encoded', ['utf8', 'base64'], { optional: true, default: 'utf8' })
  encoding?: 'utf8' | 'base64';
}

export class DownloadFile extends StatFile {
  @Field.boolean('Show in a browser where that is harmless, instead of saving', {
    optional: true,
    default: false,
  })
  inline?: boolean;
}

export class MakeFolder extends WorkspaceId {
  @Field.text('Path in the workspace', { ...PATH, min: 1, example: 'notes/drafts' }) path: string;
}

export class EditFile extends FilePath {
  @Field.text('Text to replace; must occur exactly once unless replace_all', {
    min: 1,
    max: 1_000_000,
    example: 'teh',
  })
  old_text: string;

  @Field.text('What to put in its place', { max: 1_000_000, example: 'the' }) new_text: string;
  @Field.boolean('Replace every occurrence', { optional: true, default: false }) replace_all?: boolean;
}

export class MoveFile extends WorkspaceId {
  @Field.text('What to move or copy', { ...PATH, min: 1 }) from: string;
  @Field.text('Where to', { ...PATH, min: 1, example: 'archive/plan.md' }) to: string;
  @Field.boolean('Replace what is there', { optional: true, default: false }) overwrite?: boolean;
}

export class DeleteFile extends FilePath {
  @Field.boolean('Also what the folder holds', { optional: true, default: false }) recursive?: boolean;
}

export class EntryView {
  @Field.text('Path in the workspace', PATH) path: string;
  @Field.choice('What it is; links are listed, never followed', ENTRY_TYPES) type: string;
  @Field.integer('Size in bytes', { example: 812 }) size: number;
  @Field.time('When it was last changed') modified_at: string;

  @Field.text('Changes whenever the content does; null unless it is a file', {
    nullable: true,
    example: '"1f-6a"',
  })
  etag: string | null;
}

export const EntryPage = PageOf(EntryView, 'EntryPage');

/** What is below a folder. */
export interface ContentsView {
  readonly files: number;
  readonly folders: number;
  readonly bytes: number;
}
const CONTENTS = { optional: true, example: { files: 40, folders: 6, bytes: 81_920 } } as const;

export class ListedView extends EntryView {
  @Field.record('All that a folder holds, where it is not shown in full: files, folders, bytes', CONTENTS)
  holds?: ContentsView;
}

/** A page of a folder, or a tree of it. */
export class FileListPage extends PageOf(ListedView, 'ListedPage') {
  declare items: ListedView[];
  declare next_cursor: string | null;

  @Field.record('All that there is, where it is shown as a tree: files, folders, bytes', CONTENTS)
  total?: ContentsView;
}

export class FoundFilesPage extends PageOf(EntryView, 'FoundPage') {
  declare items: EntryView[];
  declare next_cursor: string | null;

  @Field.integer('How many there are', { example: 3 }) total: number;
}

/** An image as a whole. */
export interface ImageContent {
  readonly media_type: string;
  readonly width: number;
  readonly height: number;
  /** In base64. */
  readonly data: string;
}

export class ContentView {
  @Field.text('Path in the workspace', PATH) path: string;
  @Field.text('The lines asked for', { max: 1_000_000_000, example: '# Plan\n' }) content: string;
  @Field.text('Changes whenever the content does', { example: '"1f-6a"' }) etag: string;
  @Field.integer('Size of the whole file in bytes', { example: 812 }) size: number;
  @Field.integer('First line returned', { example: 1 }) start_line: number;
  @Field.integer('Last line returned', { example: 20 }) end_line: number;

  @Field.integer(
    'Lines in the whole file; null for one of more than 32 MiB, which is read only as far as needed',
    {
      nullable: true,
      example: 20,
    },
  )
  total_lines: number | null;

  @Field.boolean('Whether lines that were asked for are left out because there are too many')
  truncated: boolean;

  @Field.record('Of an image: media_type, width, height, and data in base64; content is empty then', {
    optional: true,
    example: { media_type: 'image/png', width: 640, height: 480, data: 'iVBORw0KGgo=' },
  })
  image?: ImageContent;

  @Field.choice('What the lines were made of, with rendered; they are none of the file itself', DOCUMENTS, {
    optional: true,
  })
  rendered?: (typeof DOCUMENTS)[number];
}

export class WrittenView extends EntryView {
  @Field.boolean('Whether the file is new') created: boolean;
}

export class EditedView extends EntryView {
  @Field.integer('How many occurrences were replaced', { example: 1 }) replacements: number;
  @Field.integer('The first line that changed, from 1', { example: 12 }) line: number;

  @Field.text('The first change with the lines around it, each after its number; long ones are cut', {
    example: '11\t# Plan\n12\tthe first step',
  })
  excerpt: string;
}

export class CopiedView extends EntryView {
  @Field.text('What was left out: links and special files', { list: true, example: [] }) skipped: string[];
}

export class DeletedPathView {
  @Field.text('What was deleted', PATH) path: string;
  @Field.boolean('Always true') deleted: boolean;
}

const MAX_LINES = 2_000;
const MAX_LINE = 2_000;
/** Of characters, together with the numbers: less than a result may have. */
const MAX_SHOWN = 45_000;
/** Of a file that does not fit and is read from its beginning: enough to see what it is, where a search finds the rest. */
const MAX_BEGINNING = 12_000;
/** Beyond that nothing can be shown, whatever the lines are. */
const LOOKED_AT = MAX_SHOWN * 10;

/** As many lines as a model is shown at once, each after its number; what is left out of a long one is said. */
function numberedLines(content: string, first: number, most = MAX_SHOWN): string[] {
  const lines = content.slice(0, LOOKED_AT).split('\n');
  // What follows the last line end is no line; where the text goes on, it is none that is whole.
  if (lines.length > 1 && (lines.at(-1) === '' || content.length > LOOKED_AT)) lines.pop();
  const shown: string[] = [];
  let room = most;
  for (const line of lines.slice(0, MAX_LINES)) {
    const isLong = line.length > MAX_LINE;
    const text = isLong ? `${line.slice(0, MAX_LINE).toWellFormed()}… (the line goes on)` : line;
    const numbered = `${first + shown.length}\t${text.replace(/\r$/, '')}`;
    room -= numbered.length + 1;
    if (room < 0) break;
    shown.push(numbered);
  }
  return shown;
}

function entryLine({ path, type, size, holds }: ListedView): string {
  if (type !== 'directory') return `${path} (${size} bytes)`;
  return holds ? `${path}/ (${heldBy(holds)})` : `${path}/`;
}

function heldBy({ files, folders, bytes }: ContentsView): string {
  const inFolders = folders === 0 ? '' : ` in ${folders} folder${folders === 1 ? '' : 's'}`;
  return `${files} file${files === 1 ? '' : 's'}${inFolders}, ${bytes} bytes`;
}

/** Tool results, as models read them. */
export const fileTexts = {
  list({ items, next_cursor, total }: FileListPage): string {
    const lines = items.map(entryLine);
    if (total)
      lines.push(
        `(${heldBy(total)} in all; folders with counts are not shown in full: list one of them, or look with find_files)`,
      );
    if (next_cursor) lines.push(`… more than ${items.length} entries; list a folder below`);
    return lines.join('\n') || '(empty)';
  },

  found({ items, total }: FoundFilesPage): string {
    const lines = items.map(entryLine);
    if (total > items.length)
      lines.push(`… ${total - items.length} more; narrow the pattern or the path, or raise limit`);
    return lines.join('\n') || 'Nothing found';
  },

  read(view: ContentView): string {
    const { path, content, start_line, end_line, total_lines, truncated, size, image, rendered } = view;
    if (image) return `${path}: ${image.media_type}, ${image.width} × ${image.height} pixels, ${size} bytes`;
    if (size === 0) return '(an empty file)';
    if (content === '') return `(no such lines; the file has ${total_lines ?? 'very many'})`;
    const fitting = numberedLines(content, start_line);
    const isWhole = start_line === 1 && (truncated || end_line === total_lines);
    // A search finds nothing in what a document was made into.
    const isLong = isWhole && fitting.length < end_line && !rendered;
    const shown = isLong ? numberedLines(content, 1, MAX_BEGINNING) : fitting;
    const last = start_line - 1 + shown.length;
    const whole = total_lines === null ? `a file of ${size} bytes` : `${total_lines}`;
    const found = isLong ? '; find the lines that matter with search_files' : '';
    const goOn = last === total_lines ? '' : `${found}; go on with start_line=${last + 1}`;
    const isPart = start_line > 1 || last !== total_lines;
    if (isPart) shown.push(`(lines ${start_line}–${last} of ${whole}${goOn})`);
    return shown.join('\n');
  },

  images: ({ path, image }: ContentView) =>
    image ? [{ path, mediaType: image.media_type, data: image.data }] : [],

  path: ({ path }: EntryView): string[] => [path],

  write: ({ path, size, created }: WrittenView): string =>
    `${created ? 'Created' : 'Replaced'} ${path} (${size} bytes)`,

  edit: ({ path, replacements, excerpt }: EditedView): string =>
    `Replaced ${replacements} occurrence${replacements === 1 ? '' : 's'} in ${path}${replacements === 1 ? '' : '; the first'}:\n${excerpt}`,
};
