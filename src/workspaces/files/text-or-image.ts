import { type ImageInfo, imageInfo } from '#libs/image-info/index.js';
import {
  quotePath,
  type ReadTextOptions,
  type TextRead,
  type WorkspaceFs,
  WorkspaceFsError,
} from '#libs/workspace-fs/index.js';
import type { ContentView } from './files.dto.js';

/** What model providers take. */
const MAX_IMAGE_BYTES = 3.75 * 1024 * 1024;
const MAX_IMAGE_SIDE = 8_000;
/** Enough to tell what kind of file it is. */
const HEAD_BYTES = 512;

const KINDS: readonly (readonly [start: string, kind: string])[] = [
  ['%PDF-', 'a PDF; rendered=true gives its text'],
  ['PK\u0003\u0004', 'a zip archive, or a document that is one; unzip -l lists it'],
  ['PK\u0005\u0006', 'an empty zip archive'],
  ['\u001f\u008b', 'compressed with gzip; zcat shows it'],
  ['\u007fELF', 'a program'],
  ['SQLite format 3\0', 'a database of SQLite; sqlite3 opens it'],
];

/** Lines of a text file, or a whole image. Of anything else the refusal says what it is. */
export async function textOrImage(
  files: WorkspaceFs,
  path: string,
  options: ReadTextOptions,
): Promise<TextRead & Pick<ContentView, 'image'>> {
  try {
    return await files.readText(path, options);
  } catch (error) {
    if (!(error instanceof WorkspaceFsError) || error.code !== 'not_text') throw error;
    return imageAt(files, error);
  }
}

async function imageAt(
  files: WorkspaceFs,
  { path }: WorkspaceFsError,
): Promise<TextRead & Pick<ContentView, 'image'>> {
  const file = await files.openRead(path);
  try {
    const { size, etag } = file.entry;
    const head = await file.readAt(0, HEAD_BYTES);
    const isImage = imageInfo(head) !== undefined;
    if (!isImage) throw noText(path, `${size} bytes, ${kindOf(head)}`);
    if (size > MAX_IMAGE_BYTES)
      throw noText(
        path,
        `an image of ${size} bytes, and may have ${MAX_IMAGE_BYTES} to be shown; make it smaller`,
      );
    const bytes = await file.bytes();
    const info = imageInfo(bytes);
    const fault = info ? faultOf(info) : 'it changed meanwhile';
    if (!info || fault !== null)
      throw noText(path, `${info?.mediaType ?? 'no image'} of ${size} bytes that cannot be shown: ${fault}`);
    const { mediaType: media_type, width, height } = info;
    const image = { media_type, width, height, data: bytes.toString('base64') };
    const none = { content: '', start_line: 1, end_line: 0, total_lines: 0, truncated: false };
    return { path, etag: etag ?? '', size, ...none, image };
  } finally {
    await file.close();
  }
}

/** The kind of an image as models are shown it; undefined for what is none, is broken, or is too large for them. */
export function shownImageType(bytes: Buffer): string | undefined {
  const info = bytes.length <= MAX_IMAGE_BYTES ? imageInfo(bytes) : undefined;
  return info && faultOf(info) === null ? info.mediaType : undefined;
}

function faultOf({ fault, width, height }: ImageInfo): string | null {
  if (fault !== null) return fault;
  const isLarge = Math.max(width, height) > MAX_IMAGE_SIDE;
  return isLarge
    ? `it has ${width} × ${height} pixels, and may have ${MAX_IMAGE_SIDE} a side; make it smaller`
    : null;
}

function kindOf(head: Buffer): string {
  const text = head.toString('latin1');
  return KINDS.find(([start]) => text.startsWith(start))?.[1] ?? 'of a kind that file and xxd may tell';
}

const noText = (path: string, what: string): WorkspaceFsError =>
  new WorkspaceFsError(
    'not_text',
    path,
    `${quotePath(path)} is not UTF-8 text; download it instead, or look at it with a command: ${what}`,
  );
