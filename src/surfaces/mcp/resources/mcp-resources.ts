import { isUtf8 } from 'node:buffer';
import {
  type CompleteResult,
  type ReadResourceResult,
  type Resource,
  type ResourceTemplateType,
} from '@modelcontextprotocol/server';
import { Inject, Injectable } from '@nestjs/common';
import mime from 'mime';
import { validate as isUuid } from 'uuid';
import { parentOf } from '#libs/workspace-fs/index.js';
import { type Actor } from '../../../platform/access/index.js';
import { ActionCaller, ActionRunner } from '../../../platform/actions/index.js';
import { type Page } from '../../../platform/dto/index.js';
import { problemOf, TooLarge } from '../../../platform/errors/index.js';
import { WorkspacesService } from '../../../workspaces/core/index.js';
import { FilesService } from '../../../workspaces/files/index.js';
import { MCP_EXTENSION, type McpExtension } from '../call/mcp-tool.js';
import { FILE_TEMPLATE, fileUri, noSuchResource, parseResourceUri, RUN_TEMPLATE } from './resource-uri.js';

/** As many as the specification lets one answer have (2025-11-25, completion). */
const MAX_VALUES = 100;
const ENTRIES = 200;

/** What is being filled in. */
interface Blank {
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
    const path = parentOf(beginning);
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

const WORKSPACES_AT_ONCE = 20;
const FILES_OF_EACH = 50;
const FOLDER_ENTRIES = 200;
/** Largest file that is sent as a whole. */
const MAX_BYTES = 4 * 1024 * 1024;
const UNKNOWN_TYPE = 'application/octet-stream';

const RESOURCE_TEMPLATES: ResourceTemplateType[] = [
  {
    name: 'file',
    title: 'File of a workspace',
    uriTemplate: FILE_TEMPLATE,
    description: 'The content of a file, or the entries of a folder',
  },
  {
    name: 'run',
    title: 'Result of an agent run',
    uriTemplate: RUN_TEMPLATE,
    mimeType: 'application/json',
    description: 'How a run stands, with all that its tools gave back',
  },
];

/** What a client can read: the files of the workspaces that the caller sees. */
@Injectable()
export class McpResources {
  constructor(
    private readonly workspaces: WorkspacesService,
    private readonly files: FilesService,
    private readonly runner: ActionRunner,
    @Inject(MCP_EXTENSION) private readonly extension: McpExtension,
  ) {}

  /** The kinds of addresses that there are. */
  get templates(): ResourceTemplateType[] {
    return [...RESOURCE_TEMPLATES, ...this.extension.templates];
  }

  /** Each workspace with the files at its top, some workspaces at a time. */
  async list(
    actor: Actor,
    cursor: string | undefined,
  ): Promise<{ resources: Resource[]; nextCursor?: string }> {
    const page = await this.workspaces.list(actor, { limit: WORKSPACES_AT_ONCE, cursor });
    const lists = await Promise.all(
      page.items.map(async ({ id, name }) => [
        { uri: fileUri(id), name, title: name, description: 'A workspace', mimeType: 'application/json' },
        ...(await this.topFiles(actor, id)),
      ]),
    );
    const others = cursor === undefined ? this.extension.resources : [];
    return {
      resources: [...others, ...lists.flat()],
      ...(page.next_cursor ? { nextCursor: page.next_cursor } : {}),
    };
  }

  /** Throws NotFound for an address that names nothing which the caller sees. */
  async read(actor: Actor, uri: string): Promise<ReadResourceResult> {
    const other = this.extension.readResource(uri);
    if (other) return other;
    const named = parseResourceUri(uri);
    if (!named) throw noSuchResource(uri);
    if (named.kind === 'run') return json(uri, await this.run(actor, named.callId));
    const { workspaceId: workspace_id, path } = named;
    const entry = await this.files.stat(actor, { workspace_id, path });
    if (entry.type === 'directory')
      return json(uri, await this.files.list(actor, { workspace_id, path, limit: FOLDER_ENTRIES }));
    const file = await this.files.download(actor, { workspace_id, path });
    try {
      if (file.entry.size > MAX_BYTES)
        throw new TooLarge(
          `${path} has ${file.entry.size} bytes, more than the ${MAX_BYTES} that fit here; read some of its lines with read_file`,
        );
      return { contents: [contentOf(uri, path, await file.bytes())] };
    } finally {
      await file.close();
    }
  }

  private async run(actor: Actor, call_id: string): Promise<unknown> {
    const caller = ActionCaller.direct(actor, 'mcp');
    return (await this.runner.run(caller, { name: 'run_status_get', input: { call_id } })).output;
  }

  /** None for a credential that may see the workspace and not its files. */
  private async topFiles(actor: Actor, workspace_id: string): Promise<Resource[]> {
    let page: Page<{ path: string; type: string; size: number; modified_at: string }>;
    try {
      page = await this.files.list(actor, { workspace_id, limit: FILES_OF_EACH });
    } catch (error) {
      if (problemOf(error)) return [];
      throw error;
    }
    return page.items
      .filter(({ type }) => type === 'file')
      .map(({ path, size, modified_at }) => ({
        uri: fileUri(workspace_id, path),
        name: path,
        size,
        mimeType: mime.getType(path) ?? UNKNOWN_TYPE,
        annotations: { lastModified: modified_at },
      }));
  }
}

const json = (uri: string, value: unknown): ReadResourceResult => ({
  contents: [{ uri, mimeType: 'application/json', text: JSON.stringify(value) }],
});

function contentOf(uri: string, path: string, bytes: Buffer): ReadResourceResult['contents'][number] {
  const isText = isUtf8(bytes) && !bytes.includes(0);
  const mimeType = mime.getType(path) ?? (isText ? 'text/plain' : UNKNOWN_TYPE);
  return isText
    ? { uri, mimeType, text: bytes.toString('utf8') }
    : { uri, mimeType, blob: bytes.toString('base64') };
}
