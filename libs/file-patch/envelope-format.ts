import { type FilePatch, type Hunk, type HunkLine, PatchError, PatchLines } from './file-patch.js';

const BEGIN = '*** Begin Patch';
const END = '*** End Patch';
const END_OF_FILE = '*** End of File';
const HEADER = /^\*\*\* (Add|Update|Delete) File: (.*\S)\s*$/;
const MOVE = /^\*\*\* Move to: (.*\S)\s*$/;
/** What is shown of a line that makes no sense. */
const MAX_SHOWN = 100;

/** Reads the format of apply_patch: `*** Begin Patch`, then `Add File`, `Update File` and `Delete File`, then `*** End Patch`. */
export function readEnvelope(text: string): FilePatch[] {
  const lines = new PatchLines(text);
  while (lines.peek()?.trim() !== BEGIN) {
    const number = lines.number;
    if (lines.next().trim() !== '')
      throw new PatchError(`Line ${number} of the patch comes before "${BEGIN}"`);
  }
  lines.next();
  const files: FilePatch[] = [];
  while (lines.peek()?.trim() !== END) {
    const number = lines.number;
    if (lines.isOver)
      throw new PatchError(`The patch does not end with "${END}": the end of it may be missing`);
    const line = lines.next();
    if (line.trim() === '') continue;
    const [, what, path = ''] = HEADER.exec(line.trim()) ?? [];
    if (what === 'Add') files.push({ kind: 'add', path, line: number, text: added(lines, path) });
    else if (what === 'Delete') files.push({ kind: 'delete', path, line: number });
    else if (what === 'Update') files.push({ kind: 'update', path, line: number, ...updated(lines, path) });
    else
      throw new PatchError(
        `Line ${number} of the patch must be "*** Add File: path", "*** Update File: path" or "*** Delete File: path"; it is ${shown(line)}`,
      );
  }
  return files;
}

const shown = (line: string): string =>
  JSON.stringify(line.length > MAX_SHOWN ? `${line.slice(0, MAX_SHOWN)}…` : line);

const isMarker = (line: string): boolean =>
  line.startsWith('*** ') && (HEADER.test(line.trim()) || line.trim() === END);

function added(lines: PatchLines, path: string): string {
  let text = '';
  for (let line = lines.peek(); line !== undefined && !isMarker(line); line = lines.peek()) {
    const number = lines.number;
    lines.next();
    if (line.startsWith('+')) text += `${line.slice(1)}\n`;
    else if (line.trim() !== '' || lines.peek()?.startsWith('+'))
      throw new PatchError(
        `Line ${number} of the patch must begin with "+", as every line of the new file "${path}"; it is ${shown(line)}`,
      );
  }
  return text;
}

function updated(lines: PatchLines, path: string): { to?: string; hunks: Hunk[] } {
  const [, to] = MOVE.exec(lines.peek()?.trim() ?? '') ?? [];
  if (to !== undefined) lines.next();
  const hunks: Hunk[] = [];
  for (let line = lines.peek(); line !== undefined && !isMarker(line); line = lines.peek()) {
    if (line.trim() === '' && isOverAfterBlanks(lines)) {
      lines.next();
      continue;
    }
    hunks.push(hunk(lines, path, hunks.length + 1));
  }
  if (hunks.length === 0 && to === undefined)
    throw new PatchError(`Update File "${path}" has no lines that begin with "-" or "+"`);
  return { ...(to === undefined ? {} : { to }), hunks };
}

/** Blank lines before the next marker separate files; elsewhere they are empty lines of the file. */
function isOverAfterBlanks(lines: PatchLines): boolean {
  const next = lines.peekFilled();
  return next === undefined || isMarker(next);
}

function hunk(lines: PatchLines, path: string, number: number): Hunk {
  const start = lines.number;
  const anchors: string[] = [];
  for (let line = lines.peek(); line?.startsWith('@@'); line = lines.peek()) {
    const anchor = lines.next().slice(2).replace(/^ /, '').replace(/ @@$/, '');
    if (anchor.trim() !== '') anchors.push(anchor);
  }
  const found: HunkLine[] = [];
  let isAtEnd = false;
  for (let line = lines.peek(); line !== undefined; line = lines.peek()) {
    if (line.startsWith('@@') || isMarker(line)) break;
    if (line.trim() === '' && isOverAfterBlanks(lines)) break;
    const at = lines.number;
    lines.next();
    if (line.trim() === END_OF_FILE) {
      isAtEnd = true;
      break;
    }
    found.push(hunkLine(line, at, path));
  }
  if (!found.some(({ sign }) => sign !== ' '))
    throw new PatchError(
      `Hunk ${number} of "${path}" (line ${start} of the patch) has no line that begins with "-" or "+"`,
    );
  return { number, line: start, anchors, lines: found, isAtEnd };
}

function hunkLine(line: string, number: number, path: string): HunkLine {
  if (line === '') return { sign: ' ', text: '' };
  const sign = line.charAt(0);
  if (sign === ' ' || sign === '+' || sign === '-') return { sign, text: line.slice(1) };
  throw new PatchError(
    `Line ${number} of the patch, in the update of "${path}", must begin with a space (a line that stays), "-" (one that goes) or "+" (a new one); it is ${shown(line)}`,
  );
}
