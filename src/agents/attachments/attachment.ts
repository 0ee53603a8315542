import type {
  LanguageModelV4FilePart,
  LanguageModelV4Prompt,
  LanguageModelV4TextPart,
} from '@ai-sdk/provider';
import type { ModelInputKind } from '#libs/model-client/index.js';

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

const SIGNATURES: [mediaType: string, matches: (bytes: Buffer) => boolean][] = [
  ['image/png', bytes => bytes.subarray(0, 8).equals(Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'))],
  ['image/jpeg', bytes => bytes.subarray(0, 3).equals(Buffer.from([0xff, 0xd8, 0xff]))],
  ['image/gif', bytes => /^GIF8[79]a/.test(bytes.toString('latin1', 0, 6))],
  ['image/webp', bytes => /^RIFF.{4}WEBP/s.test(bytes.toString('latin1', 0, 12))],
  ['application/pdf', bytes => bytes.toString('latin1', 0, 5) === '%PDF-'],
];

/** The media type of a file by what is in it, whatever its name says; undefined where no model could take it. */
export function mediaTypeOf(bytes: Buffer): string | undefined {
  const known = SIGNATURES.find(([, matches]) => matches(bytes))?.[0];
  return known ?? (isText(bytes) ? 'text/plain' : undefined);
}

/** Null for text, which every model takes. */
export function kindOf(mediaType: string): ModelInputKind | null {
  if (mediaType.startsWith('image/')) return 'image';
  return mediaType === 'application/pdf' ? 'pdf' : null;
}

function isText(bytes: Buffer): boolean {
  if (bytes.includes(0)) return false;
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
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
