import { Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { DEFAULT_LIMIT } from '../../platform/dto/index.js';
import { WorkspaceFolders, WorkspacesStore } from '../core/index.js';
import { FileTrees } from './file-trees.js';
import { FindFiles, FoundFilesPage, fileTexts } from './files.dto.js';
import { cursorAfter, pathOfCursor } from './files.service.js';
import { teaching } from './near-paths.js';

/** Finds files by name, kind and time. */
@Injectable()
export class FileFindingService {
  constructor(
    private readonly workspaces: WorkspacesStore,
    private readonly folders: WorkspaceFolders,
    private readonly trees: FileTrees,
  ) {}

  @Action('file_search', {
    summary: 'Find files and folders by a pattern for their names or paths',
    permission: 'file.read',
    input: FindFiles,
    output: FoundFilesPage,
    tool: {
      name: 'find_files',
      title: 'Find files',
      description:
        'Find files and folders of a workspace by name or pattern, on request the last changed first. Leaves out what .gitignore does.',
      agents: {
        text: fileTexts.found,
        defaults: { limit: 200 },
        brief:
          'Find files and folders: *.ts, src/**/*.spec.ts, or a part of the name (also takes type, ignored, limit).',
        told: { pattern: '', path: '', sort: '' },
      },
    },
    cancellable: true,
    refuses: { 404: 'No such workspace or path', 409: 'The path is no folder' },
  })
  async find(actor: Actor, input: FindFiles, signal?: AbortSignal): Promise<FoundFilesPage> {
    const { pattern, path = '', type, ignored = false, sort = 'path', limit = DEFAULT_LIMIT } = input;
    const after = sort === 'path' ? pathOfCursor(input.cursor) : undefined;
    const workspace = await this.workspaces.require(actor, 'file.read', input.workspace_id);
    const asked = { pattern, path, type, ignored, sort, limit, after, signal };
    const { items, total, more } = await teaching(
      this.folders.open(workspace),
      () => this.trees.find(workspace, asked),
      path,
    );
    const last = items.at(-1);
    const goesOn = more && sort === 'path' && last !== undefined;
    return { items, total, next_cursor: goesOn ? cursorAfter(last.path) : null };
  }
}
