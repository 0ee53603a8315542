import { isUtf8 } from 'node:buffer';
import { Invalid } from '../../platform/errors/index.js';

/** Stands before the path in a cursor, so that not every text is one. */
const MARK = '/';

/** Where a listing goes on: after a path. As plain bytes, because the longest paths leave no room in a URL for more. */
export function cursorAfter(path: string): string {
  return Buffer.from(MARK + path).toString('base64url');
}

/** Reads a cursor back. Throws Invalid for one that {@link cursorAfter} did not make. */
export function pathOfCursor(cursor: string | undefined): string | undefined {
  if (cursor === undefined) return undefined;
  const bytes = Buffer.from(cursor, 'base64url');
  const text = bytes.toString();
  if (
    !isUtf8(bytes) ||
    !text.startsWith(MARK) ||
    text.includes('\0') ||
    cursorAfter(text.slice(1)) !== cursor
  )
    throw new Invalid('cursor is not one that this list gave out');
  return text.slice(MARK.length);
}
