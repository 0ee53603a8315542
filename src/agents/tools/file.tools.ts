import { Injectable } from '@nestjs/common';
import { Field } from '../../platform/dto/index.js';
import { FilesService, FileWritesService } from '../../workspaces/files/index.js';
import { SearchService } from '../../workspaces/search/index.js';
import { shorten, succeeded, type Tool, type ToolContext, type ToolResult } from './tool.js';

const PATH = { min: 1, max: 4096, example: 'notes/plan.md' };

class ReadFileInput {
  @Field.text('Path in the workspace', PATH)
  path: string;

  @Field.integer('First line, from 1', { min: 1, optional: true, example: 1 })
  start_line?: number;

  @Field.integer('Last line', { min: 1, optional: true, example: 200 })
  end_line?: number;
}

@Injectable()
export class ReadFileTool implements Tool<ReadFileInput> {
  readonly name = 'read_file';
  readonly description = 'Read a text file of the workspace, or some of its lines.';
  readonly effect = 'read';
  readonly permission = 'file.read';
  readonly input = ReadFileInput;

  constructor(private readonly files: FilesService) {}

  async run({ actor, workspaceId: workspace_id }: ToolContext, input: ReadFileInput): Promise<ToolResult> {
    const { content, start_line, end_line, total_lines } = await this.files.read(actor, {
      workspace_id,
      ...input,
    });
    const total = total_lines ?? 'very many';
    if (content === '' && total !== 0) return succeeded(`(no such lines; the file has ${total})`);
    const isPart = start_line > 1 || end_line !== total;
    return succeeded(shorten(content) + (isPart ? `\n(lines ${start_line} to ${end_line} of ${total})` : ''));
  }
}

class WriteFileInput {
  @Field.text('Path in the workspace; folders are made as needed', PATH)
  path: string;

  @Field.text('The whole content', { max: 10_000_000, example: '# Plan\n' })
  content: string;
}

@Injectable()
export class WriteFileTool implements Tool<WriteFileInput> {
  readonly name = 'write_file';
  readonly description = 'Write a whole text file in the workspace, replacing what was there.';
  readonly effect = 'write';
  readonly permission = 'file.write';
  readonly input = WriteFileInput;

  constructor(private readonly files: FileWritesService) {}

  async run({ actor, workspaceId: workspace_id }: ToolContext, input: WriteFileInput): Promise<ToolResult> {
    const { path, size, created } = await this.files.write(actor, { workspace_id, ...input });
    return succeeded(`${created ? 'Created' : 'Replaced'} ${path} (${size} bytes)`, [path]);
  }
}

class EditFileInput {
  @Field.text('Path in the workspace', PATH)
  path: string;

  @Field.text('Text to replace, exactly as it stands; must occur once', {
    min: 1,
    max: 1_000_000,
    example: 'teh',
  })
  old_text: string;

  @Field.text('What to put in its place', { max: 1_000_000, example: 'the' })
  new_text: string;

  @Field.boolean('Replace every occurrence', { optional: true, example: false })
  replace_all?: boolean;
}

@Injectable()
export class EditFileTool implements Tool<EditFileInput> {
  readonly name = 'edit_file';
  readonly description = 'Replace a piece of text in a file of the workspace.';
  readonly effect = 'write';
  readonly permission = 'file.write';
  readonly input = EditFileInput;

  constructor(private readonly files: FileWritesService) {}

  async run({ actor, workspaceId: workspace_id }: ToolContext, input: EditFileInput): Promise<ToolResult> {
    const { path, replacements } = await this.files.edit(actor, { workspace_id, ...input });
    return succeeded(`Replaced ${replacements} occurrence${replacements === 1 ? '' : 's'} in ${path}`, [
      path,
    ]);
  }
}

class ListFilesInput {
  @Field.text('The folder; absent: the whole workspace', { max: 4096, optional: true, example: 'notes' })
  path?: string;

  @Field.boolean('Also what its folders hold', { optional: true, example: false })
  recursive?: boolean;
}

const MOST_LISTED = 200;

@Injectable()
export class ListFilesTool implements Tool<ListFilesInput> {
  readonly name = 'list_files';
  readonly description = 'List a folder of the workspace.';
  readonly effect = 'read';
  readonly permission = 'file.read';
  readonly input = ListFilesInput;

  constructor(private readonly files: FilesService) {}

  async run({ actor, workspaceId: workspace_id }: ToolContext, input: ListFilesInput): Promise<ToolResult> {
    const { items, next_cursor } = await this.files.list(actor, {
      workspace_id,
      limit: MOST_LISTED,
      ...input,
    });
    const lines = items.map(({ path, type, size }) =>
      type === 'directory' ? `${path}/` : `${path} (${size} bytes)`,
    );
    if (next_cursor) lines.push(`… more than ${MOST_LISTED} entries; list a folder below`);
    return succeeded(lines.join('\n') || '(empty)');
  }
}

class SearchFilesInput {
  @Field.text('What to find', { min: 1, max: 1000, example: 'TODO' })
  query: string;

  @Field.boolean('query is a regular expression (RE2 syntax), matched line by line', {
    optional: true,
    example: false,
  })
  regex?: boolean;

  @Field.boolean('Capital letters matter', { optional: true, example: false })
  case_sensitive?: boolean;

  @Field.text('Only below this folder', { max: 4096, optional: true, example: 'src' })
  path?: string;

  @Field.text('Only files whose name or path matches this glob', {
    max: 500,
    optional: true,
    example: '*.md',
  })
  glob?: string;
}

@Injectable()
export class SearchFilesTool implements Tool<SearchFilesInput> {
  readonly name = 'search_files';
  readonly description =
    'Find text in the files of the workspace; answers path:line: text. Leaves out what .gitignore does.';
  readonly effect = 'read';
  readonly permission = 'file.read';
  readonly input = SearchFilesInput;

  constructor(private readonly searches: SearchService) {}

  async run({ actor, workspaceId, signal }: ToolContext, input: SearchFilesInput): Promise<ToolResult> {
    const { query, ...narrowed } = input;
    const search = { workspace_id: workspaceId, q: query, limit: MOST_LISTED, ...narrowed };
    const { items, next_cursor } = await this.searches.search(actor, search, signal);
    const lines = items.map(({ path, line, excerpt }) => `${path}:${line}: ${excerpt}`);
    if (next_cursor) lines.push('… there are more');
    return succeeded(lines.join('\n') || 'Nothing found');
  }
}
