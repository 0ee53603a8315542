import type {
  LanguageModelV4FilePart,
  LanguageModelV4Prompt,
  LanguageModelV4TextPart,
} from '@ai-sdk/provider';
import { kindOf, type ModelInputKind } from '#libs/model-client/index.js';

/** A file that goes with a message, as the message names it; its bytes are kept apart, by their hash. */
export interface AttachmentPart {
  type: 'attachment';
  /** Where it was in the workspace when the message was sent. */
  path: string;
  media_type: string;
  /** SHA-256, in hexadecimal. */
  hash: string;
  size: number;
}

/** About how many bytes of text count as much in a prompt as an attachment does. */
export function weightOf({ media_type, size }: AttachmentPart): number {
  if (media_type.startsWith('image/')) return 5_000;
  return media_type === 'application/pdf' ? Math.ceil(size / 4) : size;
}

/** Names an attachment in a prompt until its bytes take its place. */
export function placeholderOf({ path, media_type, hash }: AttachmentPart): LanguageModelV4FilePart {
  const data = { type: 'reference', reference: { atelier: hash } } as const;
  return { type: 'file', filename: path, mediaType: media_type, data };
}

const hashOf = (part: LanguageModelV4FilePart | LanguageModelV4TextPart): string | undefined =>
  part.type === 'file' && part.data.type === 'reference' ? part.data.reference.atelier : undefined;

/** The hashes of the attachments that a prompt names. */
export function hashesIn(prompt: LanguageModelV4Prompt): string[] {
  const hashes = prompt.flatMap(({ role, content }) =>
    role === 'user' ? content.map(part => hashOf(part)) : [],
  );
  return [...new Set(hashes)].filter(hash => hash !== undefined);
}

/** The prompt with its attachments in it: as files where the model takes such, as text, or as a note that they are left out. */
export function attach(
  prompt: LanguageModelV4Prompt,
  bytes: ReadonlyMap<string, Buffer>,
  taken: readonly ModelInputKind[],
): LanguageModelV4Prompt {
  return prompt.map(message => {
    if (message.role !== 'user') return message;
    const content = message.content.map(part => {
      const hash = hashOf(part);
      return part.type === 'file' && hash !== undefined ? inPlace(part, bytes.get(hash), taken) : part;
    });
    return { ...message, content };
  });
}

function inPlace(
  part: LanguageModelV4FilePart,
  bytes: Buffer | undefined,
  taken: readonly ModelInputKind[],
): LanguageModelV4FilePart | LanguageModelV4TextPart {
  const { filename = '', mediaType } = part;
  const kind = kindOf(mediaType);
  const name = JSON.stringify(filename);
  if (!bytes) return { type: 'text', text: `<attachment path=${name}>\n(no longer there)\n</attachment>` };
  if (kind === null)
    return { type: 'text', text: `<attachment path=${name}>\n${bytes.toString('utf8')}\n</attachment>` };
  if (!taken.includes(kind))
    return {
      type: 'text',
      text: `<attachment path=${name}>\n(left out: this model takes no ${kind})\n</attachment>`,
    };
  return { ...part, data: { type: 'data', data: bytes } };
}
