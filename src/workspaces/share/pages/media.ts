import mime from 'mime';
import type { IconName } from '../../exposure/index.js';

/** How a file is shown. */
export type Showing = 'image' | 'pdf' | 'audio' | 'video' | 'markdown' | 'csv' | 'text';

/** Endings of program text that are registered for media. */
const PROGRAM_TEXT = /\.(ts|mts|cts)$/i;

/** By its name alone. What is `text` may turn out to be none. */
export function showingOf(name: string): Showing {
  if (/\.(md|markdown)$/i.test(name)) return 'markdown';
  if (/\.(csv|tsv)$/i.test(name)) return 'csv';
  // With a slash before it: a bare name without a dot would be taken for an extension.
  const type = (!PROGRAM_TEXT.test(name) && mime.getType(`/${name}`)) || '';
  if (type === 'application/pdf') return 'pdf';
  if (/^image\/(png|jpeg|gif|webp|avif|bmp)$/.test(type)) return 'image';
  const [, media] = /^(audio|video)\//.exec(type) ?? [];
  return (media as Showing | undefined) ?? 'text';
}

/** Whether a page shows it by its bytes, which a link for looking must then give out. */
export const isShownByBytes = (name: string): boolean =>
  ['image', 'pdf', 'audio', 'video'].includes(showingOf(name));

export function iconFor(name: string): IconName {
  const showing = showingOf(name);
  if (showing === 'csv') return 'table';
  if (showing !== 'markdown' && showing !== 'text') return showing;
  const type = mime.getType(`/${name}`) ?? (name.includes('.') ? '' : 'text/plain');
  return /^text\/|json|javascript|xml|yaml|toml|sql|sh$/.test(type) || PROGRAM_TEXT.test(name)
    ? 'text'
    : 'file';
}
