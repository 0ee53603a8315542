import { Injectable } from '@nestjs/common';
import type { Entry, WorkspaceFs, Written } from '#libs/workspace-fs/index.js';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { Invalid } from '../../platform/errors/index.js';
import {
  type Beginning,
  type Change,
  countMissing,
  type Done,
  RecordedWrites,
  WorkspaceQuota,
  writerFor,
} from '../changes/index.js';
import { WorkspaceFolders, WorkspacesStore } from '../core/index.js';
import { fileTexts } from './file-texts.js';
import { EditedView, EditFile, FilePath, WriteContent, WrittenView } from './files.dto.js';
import type { Preconditions, ReceivedBody } from './write-request.js';

/** What every write by somebody who may has in common: it is asked for, and written down. */
@Injectable()
export class FileWriting {
  constructor(
    private readonly workspaces: WorkspacesStore,
    private readonly folders: WorkspaceFolders,
    private readonly writes: RecordedWrites,
  ) {}

  async open(actor: Actor, id: string): Promise<WorkspaceFs> {
    return this.folders.open(await this.workspaces.require(actor, 'file.write', id));
  }

  /** As {@link RecordedWrites.run}, in the actor's name. */
  run<T>(actor: Actor, workspaceId: string, write: (beginning: Beginning) => Promise<Done<T>>): Promise<T> {
    return this.writes.run(workspaceId, writerFor(actor), write);
  }
}

export function written({ path, type, size, etag }: Entry, created: boolean): Change {
  return { path, kind: created ? 'created' : 'modified', size: type === 'file' ? size : null, etag };
}

const WRITES = {
  404: 'No such workspace or path',
  409: 'Something else is at the path',
  412: 'The precondition failed',
  413: 'Over the size limit',
};

/** Writing contents of files. */
@Injectable()
export class FileWritesService {
  constructor(
    private readonly writing: FileWriting,
    private readonly quota: WorkspaceQuota,
  ) {}

  @Action({
    name: 'file_write',
    on: 'workspace_id',
    summary: 'Write a whole file, making its folders; all of it or nothing',
    effect: 'write',
    permission: 'file.write',
    input: WriteContent,
    output: WrittenView,
    tool: {
      name: 'write_file',
      title: 'Write a file',
      description: 'Write a whole file in a workspace, making its folders and replacing what was there.',
      agents: { text: fileTexts.write, changed: fileTexts.path },
    },
    refuses: WRITES,
  })
  async write(actor: Actor, input: WriteContent, preconditions: Preconditions = {}): Promise<WrittenView> {
    const files = await this.writing.open(actor, input.workspace_id);
    const content = decodeContent(input);
    const room = { bytes: Buffer.byteLength(content), files: await countMissing(files, input.path) };
    return this.quota.during(input.workspace_id, room, () =>
      this.writing.run(actor, input.workspace_id, async ({ beforePlacing }) => {
        return resultOf(await files.write(input.path, content, { ...preconditions, beforePlacing }));
      }),
    );
  }

  @Action({
    name: 'file_upload',
    on: 'workspace_id',
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
    { workspace_id, path }: FilePath,
    { bytes, ...facts }: ReceivedBody,
    preconditions: Preconditions = {},
  ): Promise<WrittenView> {
    const files = await this.writing.open(actor, workspace_id);
    const room = { bytes: facts.expectedBytes ?? 0, files: await countMissing(files, path) };
    return this.quota.during(workspace_id, room, kept =>
      this.writing.run(actor, workspace_id, async ({ beforePlacing }) => {
        const source = facts.expectedBytes === undefined ? kept.within(bytes) : bytes;
        return resultOf(await files.write(path, source, { ...facts, ...preconditions, beforePlacing }));
      }),
    );
  }

  @Action({
    name: 'file_edit',
    on: 'workspace_id',
    summary: 'Replace text in a file',
    effect: 'write',
    permission: 'file.write',
    input: EditFile,
    output: EditedView,
    tool: {
      name: 'edit_file',
      title: 'Edit a file',
      description: 'Replace a piece of text in a file of a workspace.',
      agents: { text: fileTexts.edit, changed: fileTexts.path },
    },
    evidence: 'read the path, or its history',
    refuses: { ...WRITES, 409: 'The text does not occur, or occurs more than once' },
  })
  async edit(actor: Actor, input: EditFile, { ifMatch }: Preconditions = {}): Promise<EditedView> {
    const { workspace_id, path, old_text, new_text, replace_all } = input;
    const files = await this.writing.open(actor, workspace_id);
    const around = <T>(growth: number, write: () => Promise<T>): Promise<T> =>
      this.quota.during(workspace_id, { bytes: Math.max(0, growth), files: 0 }, write);
    return this.writing.run(actor, workspace_id, async ({ beforePlacing }) => {
      const options = { old_text, new_text, replace_all, ifMatch, beforePlacing, around };
      const { entry, replacements } = await files.edit(path, options);
      return { result: { ...entry, replacements }, changes: [written(entry, false)] };
    });
  }
}

function resultOf({ entry, created }: Written): Done<WrittenView> {
  return { result: { ...entry, created }, changes: [written(entry, created)] };
}

function decodeContent({ content, encoding }: WriteContent): string | Buffer {
  if (encoding !== 'base64') return content;
  const bytes = Buffer.from(content, 'base64');
  // The decoder passes over what does not belong; the way back shows whether there was any.
  if (bytes.toString('base64') !== content) throw new Invalid('content is not valid base64');
  return bytes;
}
