import type { ModelInputKind } from './catalogue.js';

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
