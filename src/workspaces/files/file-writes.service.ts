import { Injectable } from '@nestjs/common';
import type { ReceivedBody } from '#libs/fastify-hardening/index.js';
import type { Preconditions } from '#libs/http-files/index.js';
import type { Entry } from '#libs/workspace-fs/index.js';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { Invalid } from '../../platform/errors/index.js';
import {
  changeOf,
  type Destination,
  FileWriter,
  RecordedWrites,
  WorkspaceQuota,
  writerFor,
} from '../changes/index.js';
import { WorkspaceFolders, WorkspacesStore } from '../core/index.js';
import { EditedView, EditFile, FilePath, fileTexts, WriteContent, WrittenView } from './files.dto.js';

import { requireSeen, requireUnchanged } from './known-files.js';
import { teaching } from './near-paths.js';

const WRITES = {
  404: 'No such workspace or path',
  409: 'Something else is at the path',
  412: 'The precondition failed',
  413: 'Over the size limit',
};

@Injectable()
export class FileWritesService {
  constructor(
    private readonly workspaces: WorkspacesStore,
    private readonly folders: WorkspaceFolders,
    private readonly writer: FileWriter,
    private readonly quota: WorkspaceQuota,
    private readonly writes: RecordedWrites,
  ) {}

  @Action('file_write', {
    summary: 'Write a whole file, making its folders; all of it or nothing',
    effect: 'write',
    permission: 'file.write',
    input: WriteContent,
    output: WrittenView,
    tool: {
      name: 'write_file',
      title: 'Write a file',
      description: 'Write a whole file in a workspace, making its folders and replacing what was there.',
      agents: {
        text: fileTexts.write,
        changed: fileTexts.path,
        brief: 'Write a whole file.',
        told: { path: '', content: '' },
      },
    },
    refuses: WRITES,
  })
  async write(actor: Actor, input: WriteContent, preconditions: Preconditions = {}): Promise<WrittenView> {
    const where = await this.open(actor, input);
    const content = decodeContent(input);
    const { workspaceId, path } = where;
    const known = actor.call?.known;
    const conditions = known && {
      conditions: async (before: Entry | null) => ({
        ...(await requireSeen(known, workspaceId, path, before)),
        ...preconditions,
      }),
    };
    const { entry, created } = await this.writer.write(where, content, conditions ?? preconditions);
    learn(actor, entry);
    return { ...entry, created };
  }

  @Action('file_upload', {
    summary: 'Write a file from the raw bytes of the body; all of it or nothing',
    effect: 'write',
    permission: 'file.write',
    input: FilePath,
    output: WrittenView,
    restOnly: true,
    refuses: WRITES,
  })
  async upload(
    actor: Actor,
    input: FilePath,
    { bytes, ...facts }: ReceivedBody,
    preconditions: Preconditions = {},
  ): Promise<WrittenView> {
    const where = await this.open(actor, input);
    const { entry, created } = await this.writer.write(where, bytes, { ...facts, ...preconditions });
    return { ...entry, created };
  }

  @Action('file_edit', {
    summary: 'Replace text in a file',
    effect: 'write',
    permission: 'file.write',
    input: EditFile,
    output: EditedView,
    tool: {
      name: 'edit_file',
      title: 'Edit a file',
      description:
        'Replace a piece of text in a file of a workspace. The result shows the changed lines with those around them.',
      agents: {
        text: fileTexts.edit,
        changed: fileTexts.path,
        brief: 'Replace text that occurs once in a file.',
        told: { path: '', old_text: '', new_text: '', replace_all: '' },
      },
    },
    evidence: 'read the path, or its history',
    refuses: { ...WRITES, 409: 'The text does not occur, or occurs more than once' },
  })
  async edit(actor: Actor, input: EditFile, { ifMatch }: Preconditions = {}): Promise<EditedView> {
    const { workspace_id, old_text, new_text, replace_all } = input;
    const { files, path, writer } = await this.open(actor, input);
    const around = <T>(growth: number, write: () => Promise<T>): Promise<T> =>
      this.quota.during(workspace_id, { bytes: Math.max(0, growth), files: 0 }, write);
    const write = () =>
      this.writes.run(workspace_id, writer, async ({ beforePlacing }) => {
        const check = (etag: string, shown: () => string) =>
          requireUnchanged(actor.call?.known, workspace_id, { path, etag }, shown);
        const options = { old_text, new_text, replace_all, ifMatch, beforePlacing, around, check };
        const { entry, ...edited } = await files.edit(path, options);
        learn(actor, entry);
        return { result: { ...entry, ...edited }, changes: [changeOf(entry, false)] };
      });
    return teaching(files, write, path);
  }

  private async open(actor: Actor, { workspace_id: workspaceId, path }: FilePath): Promise<Destination> {
    const workspace = await this.workspaces.require(actor, 'file.write', workspaceId);
    const files = this.folders.open(workspace);
    return { workspaceId, files, path: await files.writable(path), writer: writerFor(actor) };
  }
}

function learn({ call }: Actor, { path, etag }: Entry): void {
  if (etag !== null) call?.known?.learned({ path, etag });
}

function decodeContent({ content, encoding }: WriteContent): string | Buffer {
  if (encoding !== 'base64') return content;
  const bytes = Buffer.from(content, 'base64');
  // The decoder skips invalid characters; encoding again shows whether there were any.
  if (bytes.toString('base64') !== content) throw new Invalid('content is not valid base64');
  return bytes;
}
