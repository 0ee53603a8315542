import path from 'node:path';
import type { Entry } from '#libs/workspace-fs/index.js';

/** A file up to this size is read and compressed at once: a stream costs more than the bytes do. */
const SMALL_BYTES = 64 * 1024;

/** The fastest: a zip is made while somebody waits. */
const FAST = 1;
const STORED = 0;

/** What is compressed already, by its extension, gains nothing from being compressed again. */
const COMPRESSED = new Set(
  (
    '7z aac apk avif br bz2 docx epub flac gif gz heic jar jpeg jpg lz4 m4a m4v mkv mov mp3 mp4 odp ods odt ogg opus ' +
    'parquet png pptx rar tgz webm webp whl woff woff2 xlsx xz zip zst'
  ).split(' '),
);

export const isSmall = ({ size }: Entry): boolean => size <= SMALL_BYTES;

export function levelFor(name: string): number {
  return COMPRESSED.has(path.extname(name).slice(1).toLowerCase()) ? STORED : FAST;
}

/** `c:x`, which is a fine name here and a drive elsewhere, as one that nobody takes for absolute. */
export function nameInZip(name: string): string {
  return /^[a-z]:/i.test(name) ? `./${name}` : name;
}
