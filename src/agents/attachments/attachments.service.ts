import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { kindOf, mediaTypeOf } from '#libs/model-client/index.js';
import type { Actor } from '../../platform/access/index.js';
import type { ToolImage } from '../../platform/actions/index.js';
import { Invalid, TooLarge } from '../../platform/errors/index.js';
import { WorkspaceQuota } from '../../workspaces/changes/index.js';
import { FilesService } from '../../workspaces/files/index.js';
import { ModelCatalog } from '../models/index.js';
import type { AttachmentPart } from './attachment.js';
import { AttachmentsStore } from './attachments.store.js';

const MEBIBYTE = 1024 * 1024;
const MAX_BYTES = { image: 5 * MEBIBYTE, pdf: 20 * MEBIBYTE, text: MEBIBYTE / 4 };
const MAX_TOGETHER = 24 * MEBIBYTE;

/** A file as it is when its message is sent. */
export interface NewAttachment {
  readonly part: AttachmentPart;
  readonly bytes: Buffer;
}

/** The chat that a message is for. */
interface AttachedTo {
  readonly id: string;
  readonly workspace_id: string | null;
}

/** Reads the files that go with a message. */
@Injectable()
export class AttachmentsService {
  constructor(
    private readonly files: FilesService,
    private readonly catalog: ModelCatalog,
    private readonly store: AttachmentsStore,
    private readonly quota: WorkspaceQuota,
  ) {}

  /**
   * Runs `store` with the files at `paths`, as the caller may read them, while room for them is kept; throws Invalid (422)
   * for what the model does not take, and NoRoom (413) where the workspace may not hold a copy of them.
   */
  async during<T>(
    actor: Actor,
    { id: chatId, workspace_id: workspaceId }: AttachedTo,
    paths: readonly string[],
    model: string,
    store: (attachments: NewAttachment[]) => Promise<T>,
  ): Promise<T> {
    if (workspaceId === null)
      throw new Invalid('attachments: this chat has no workspace, so there are no files to attach');
    const attachments = await this.read(actor, workspaceId, paths, model);
    const bytes = await this.newBytes(chatId, attachments);
    if (bytes === 0) return store(attachments);
    return this.quota.during(workspaceId, { bytes, files: 0 }, () => store(attachments));
  }

  /**
   * What a tool of a run in the chat shows, as attachments that are yet to be stored. Throws NoRoom (413) where the workspace
   * may not hold a copy.
   */
  async ofTool(chatId: string, workspaceId: string, images: readonly ToolImage[]): Promise<NewAttachment[]> {
    const attachments = images.map(({ path, mediaType: media_type, data }): NewAttachment => {
      const bytes = Buffer.from(data, 'base64');
      const hash = createHash('sha256').update(bytes).digest('hex');
      return { part: { type: 'attachment', path, media_type, hash, size: bytes.byteLength }, bytes };
    });
    const bytes = await this.newBytes(chatId, attachments);
    if (bytes > 0) await this.quota.require(workspaceId, { bytes, files: 0 });
    return attachments;
  }

  private async read(
    actor: Actor,
    workspaceId: string,
    paths: readonly string[],
    model: string,
  ): Promise<NewAttachment[]> {
    const attachments: NewAttachment[] = [];
    let together = 0;
    for (const path of new Set(paths)) {
      const bytes = await this.bytesAt(actor, workspaceId, path);
      together += bytes.byteLength;
      if (together > MAX_TOGETHER)
        throw new TooLarge(`attachments: together they may have ${MAX_TOGETHER} bytes, and have more`);
      attachments.push(this.checked(path, bytes, model));
    }
    return attachments;
  }

  /** How much of them the chat does not have yet. */
  private async newBytes(chatId: string, attachments: readonly NewAttachment[]): Promise<number> {
    const sizes = new Map(attachments.map(({ part }) => [part.hash, part.size]));
    for (const hash of await this.store.known(chatId, [...sizes.keys()])) sizes.delete(hash);
    return [...sizes.values()].reduce((sum, size) => sum + size, 0);
  }

  private async bytesAt(actor: Actor, workspace_id: string, path: string): Promise<Buffer> {
    const file = await this.files.download(actor, { workspace_id, path });
    try {
      if (file.entry.size > MAX_BYTES.pdf)
        throw new TooLarge(
          `attachments: ${path} has ${file.entry.size} bytes, and may have ${MAX_BYTES.pdf}; the agent can read it with its tools`,
        );
      return await file.bytes();
    } finally {
      await file.close();
    }
  }

  private checked(path: string, bytes: Buffer, model: string): NewAttachment {
    const media_type = mediaTypeOf(bytes);
    if (!media_type)
      throw new Invalid(`attachments: ${path} is no image (PNG, JPEG, GIF, WebP), PDF or UTF-8 text`);
    const kind = kindOf(media_type);
    const taken = this.catalog.describe(model)?.input ?? [];
    if (kind && !taken.includes(kind)) {
      const also = taken.map(one => (one === 'pdf' ? 'PDFs' : 'images'));
      throw new Invalid(
        `attachments: ${path} is ${kind === 'pdf' ? 'a PDF' : 'an image'}, which ${model} does not take; it takes ${['text files', ...also].join(' and ')}`,
      );
    }
    const limit = MAX_BYTES[kind ?? 'text'];
    if (bytes.byteLength > limit)
      throw new TooLarge(
        `attachments: ${path} has ${bytes.byteLength} bytes, and as ${kind ?? 'text'} may have ${limit}; the agent can read it with its tools`,
      );
    const hash = createHash('sha256').update(bytes).digest('hex');
    return { part: { type: 'attachment', path, media_type, hash, size: bytes.byteLength }, bytes };
  }
}
