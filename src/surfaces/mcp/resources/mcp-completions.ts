import type { CompleteResult } from '@modelcontextprotocol/server';
import { Injectable } from '@nestjs/common';
import { validate as isUuid } from 'uuid';
import type { Actor } from '../../../platform/access/index.js';
import { problemOf } from '../../../platform/errors/index.js';
import { WorkspacesService } from '../../../workspaces/core/index.js';
import { FilesService } from '../../../workspaces/files/index.js';
import { FILE_TEMPLATE } from './resource-uri.js';

/** As many as the specification lets one answer have (2025-11-25, completion). */
const MAX_VALUES = 100;
const ENTRIES = 200;

/** What is being filled in. */
export interface Blank {
  readonly ref: { readonly type: string; readonly uri?: string };
  readonly argument: { readonly name: string; readonly value: string };
  /** What has been filled in before. */
  readonly context?: { readonly arguments?: Readonly<Record<string, string>> };
}

/** Suggests how to go on with the address of a file: first its workspace, then folder by folder. */
@Injectable()
export class McpCompletions {
  constructor(
    private readonly workspaces: WorkspacesService,
    private readonly files: FilesService,
  ) {}

  async of(actor: Actor, { ref, argument, context }: Blank): Promise<CompleteResult> {
    const { name, value } = argument;
    if (ref.type !== 'ref/resource' || ref.uri !== FILE_TEMPLATE) return suggestions([]);
    if (name === 'workspace_id')
      return suggestions((await this.ids(actor)).filter(id => id.startsWith(value)));
    const workspaceId = context?.arguments?.workspace_id;
    if (name !== 'path' || !isUuid(workspaceId)) return suggestions([]);
    return suggestions(
      (await this.paths(actor, String(workspaceId), value)).filter(path => path.startsWith(value)),
    );
  }

  private async ids(actor: Actor): Promise<string[]> {
    const { items } = await this.workspaces.list(actor, { limit: ENTRIES });
    return items.map(({ id }) => id);
  }

  /** What is in the folder that the beginning of a path leads into; nothing where there is none. */
  private async paths(actor: Actor, workspace_id: string, beginning: string): Promise<string[]> {
    const path = beginning.slice(0, Math.max(0, beginning.lastIndexOf('/')));
    try {
      const { items } = await this.files.list(actor, { workspace_id, path, limit: ENTRIES });
      return items.map(({ path: found, type }) => (type === 'directory' ? `${found}/` : found));
    } catch (error) {
      if (problemOf(error)) return [];
      throw error;
    }
  }
}

const suggestions = (values: string[]): CompleteResult => ({
  completion: {
    values: values.slice(0, MAX_VALUES),
    total: values.length,
    hasMore: values.length > MAX_VALUES,
  },
});
