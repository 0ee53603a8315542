import { readEnvelope } from './envelope-format.js';
import { type FilePatch, MAX_HUNKS, MAX_PATCHED_FILES, PatchError } from './file-patch.js';
import { readUnified } from './unified-format.js';

const BEGIN = '*** Begin Patch';
const UNIFIED = /^(?:diff --git |--- |rename from )/m;

/**
 * What a patch says of each file, in its order: in the format of apply_patch (`*** Begin Patch`), or as a unified diff.
 * @throws PatchError
 */
export function parsePatch(patch: string): FilePatch[] {
  const text = unwrapped(patch);
  const files = read(text);
  if (files.length === 0) throw new PatchError('The patch changes no file');
  if (files.length > MAX_PATCHED_FILES)
    throw new PatchError(`The patch changes ${files.length} files; at most ${MAX_PATCHED_FILES} go together`);
  const hunks = files.reduce((sum, file) => sum + (file.kind === 'update' ? file.hunks.length : 0), 0);
  if (hunks > MAX_HUNKS)
    throw new PatchError(`The patch has ${hunks} hunks; at most ${MAX_HUNKS} go together`);
  return files;
}

function read(text: string): FilePatch[] {
  if (text.split('\n').some(line => line.trim() === BEGIN)) return readEnvelope(text);
  if (UNIFIED.test(text)) return readUnified(text);
  throw new PatchError(
    'The patch must begin with "*** Begin Patch", or be a unified diff that names its files with "--- a/path" and "+++ b/path"',
  );
}

/** Without what models put around a patch: a fence of Markdown, or a here-document. Numbers of lines stay the same. */
function unwrapped(patch: string): string {
  const isWrapping = (line: string) => /^\s*(?:```\w*|(?:apply_patch\s*)?<<\s*['"]?EOF['"]?)\s*$/.test(line);
  const isEnd = (line: string) => /^\s*(?:```|EOF)\s*$/.test(line);
  const lines = patch.split('\n');
  const first = lines.findIndex(line => line.trim() !== '');
  if (first === -1 || !isWrapping(lines[first] ?? '')) return patch;
  const last = lines.findLastIndex(line => line.trim() !== '');
  lines[first] = '';
  if (last > first && isEnd(lines[last] ?? '')) lines.length = last;
  return lines.join('\n');
}
