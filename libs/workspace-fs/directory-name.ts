import { isUtf8 } from 'node:buffer';

/** A name as a folder holds it. Names are bytes; those that are not UTF-8 cannot be asked for, only removed. */
export interface DirectoryName {
  /** Each byte as one character (Latin-1), so that comparing keys compares bytes. */
  key: string;
  /** The name as text; null where its bytes are not UTF-8. */
  text: string | null;
}

export function nameFromBytes(key: string): DirectoryName {
  if (isAscii(key)) return { key, text: key };
  const bytes = Buffer.from(key, 'latin1');
  return { key, text: isUtf8(bytes) ? bytes.toString('utf8') : null };
}

/** The name as operations on its folder take it. */
export function nameOf({ key, text }: DirectoryName): string | Buffer {
  return text ?? Buffer.from(key, 'latin1');
}

/** Text in the form whose order is the order of its UTF-8 bytes. */
export function byteOrderKey(text: string): string {
  return isAscii(text) ? text : Buffer.from(text, 'utf8').toString('latin1');
}

function isAscii(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: names may hold control characters
  return /^[\x00-\x7f]*$/.test(text);
}
