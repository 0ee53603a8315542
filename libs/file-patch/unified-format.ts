import { type FilePatch, type Hunk, type HunkLine, PatchError, PatchLines } from './file-patch.js';

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(?: (.*))?$/;
const NOTHING = '/dev/null';

/** Reads a unified diff, as `git diff` or `diff -u` print it. What its head says of modes and hashes is passed over. */
export function readUnified(text: string): FilePatch[] {
  const lines = new PatchLines(text);
  const files: FilePatch[] = [];
  for (let head = headOf(lines); head; head = headOf(lines)) files.push(fileOf(head, lines));
  return files;
}

/** What a diff says of a file before its hunks. */
interface Head {
  line: number;
  before?: string;
  after?: string;
  from?: string;
  to?: string;
  isDeleted: boolean;
}

function headOf(lines: PatchLines): Head | undefined {
  const head: Head = { line: lines.number, isDeleted: false };
  let isBegun = false;
  for (let line = lines.peek(); line !== undefined; line = lines.peek()) {
    if (line.startsWith('diff --git ')) {
      if (isBegun) break;
      head.line = lines.number;
      isBegun = true;
    } else if (/^rename from /.test(line)) head.from = nameOf(line.slice('rename from '.length));
    else if (/^rename to /.test(line)) head.to = nameOf(line.slice('rename to '.length));
    else if (/^deleted file mode /.test(line)) head.isDeleted = true;
    else if (/^(?:Binary files .* differ|GIT binary patch)/.test(line))
      throw new PatchError(`Line ${lines.number} of the patch is of a binary file; only text can be patched`);
    else if (line.startsWith('--- ') && lines.peek(1)?.startsWith('+++ ')) {
      // After a rename without changes, these are the names of the next file.
      const before = nameOf(line.slice('--- '.length));
      if (head.to !== undefined && head.from !== undefined && ![head.from, `a/${head.from}`].includes(before))
        break;
      if (!isBegun) head.line = lines.number;
      head.before = nameOf(lines.next().slice('--- '.length));
      head.after = nameOf(lines.next().slice('+++ '.length));
      return head;
    } else if (HUNK.test(line))
      throw new PatchError(
        `Line ${lines.number} of the patch begins a hunk, but no "--- a/path" and "+++ b/path" name its file`,
      );
    lines.next();
  }
  return head.from !== undefined || head.to !== undefined ? head : undefined;
}

/** A name without what follows a tab (a time), and without the quotes that git puts around odd ones. */
function nameOf(text: string): string {
  const name = text.split('\t')[0]?.trimEnd() ?? '';
  if (!/^".*"$/.test(name)) return name;
  try {
    const bytes = name.slice(1, -1).replace(/\\([0-7]{3}|.)/g, (_, code: string) => {
      if (code.length === 3) return String.fromCharCode(Number.parseInt(code, 8));
      return { n: '\n', t: '\t', r: '\r' }[code] ?? code;
    });
    return /[\u0080-\u00ff]/.test(bytes) ? Buffer.from(bytes, 'latin1').toString('utf8') : bytes;
  } catch {
    return name;
  }
}

function fileOf(head: Head, lines: PatchLines): FilePatch {
  const { before, after, line } = head;
  const hunks: Hunk[] = [];
  while (lines.peek() !== undefined && HUNK.test(lines.peek() ?? ''))
    hunks.push(hunkOf(lines, hunks.length + 1));
  // git puts a/ and b/ before the two names; diff -u does not.
  const hasPrefix = [before, after].every(
    (name, index) => name === undefined || name === NOTHING || name.startsWith(index === 0 ? 'a/' : 'b/'),
  );
  const plain = (name: string) => (hasPrefix ? name.slice(2) : name);
  if (before === NOTHING) {
    const text = hunks.flatMap(hunk => hunk.lines.map(({ text }) => text)).join('\n');
    const isOpen = hunks.some(({ endsWithNewline }) => endsWithNewline === false);
    return { kind: 'add', path: plain(after ?? ''), line, text: text === '' || isOpen ? text : `${text}\n` };
  }
  if (after === NOTHING) return { kind: 'delete', path: plain(before ?? ''), line };
  const path = head.from ?? plain(before ?? '');
  if (head.isDeleted) return { kind: 'delete', path, line };
  const to = head.to ?? plain(after ?? '');
  return { kind: 'update', path, line, ...(to === path ? {} : { to }), hunks };
}

/**
 * The counts in its head are what tells the lines of a hunk from the head of the next file; where they are wrong, as
 * models count badly, what has the form of a line still counts as one.
 */
function hunkOf(lines: PatchLines, number: number): Hunk {
  const line = lines.number;
  const [, oldStart = '1', oldCount = '1', , newCount = '1'] = HUNK.exec(lines.next()) ?? [];
  let [old, fresh] = [Number(oldCount), Number(newCount)];
  const found: HunkLine[] = [];
  let endsWithNewline: boolean | undefined;
  for (let next = lines.peek(); next !== undefined; next = lines.peek()) {
    const isCounted = old > 0 || fresh > 0;
    if (next.startsWith('\\')) {
      const last = found.at(-1)?.sign;
      if (last !== undefined) endsWithNewline = last === '-';
      lines.next();
      continue;
    }
    const isHead = next.startsWith('--- ') && lines.peek(1)?.startsWith('+++ ');
    if (!isCounted && (isHead || next === '')) break;
    if (!/^[ +-]|^$/.test(next)) break;
    if (next === '' && lines.peek(1) === undefined) break;
    const { sign, text } = signed(next);
    if (sign !== '+') old--;
    if (sign !== '-') fresh--;
    found.push({ sign, text });
    lines.next();
  }
  if (!found.some(({ sign }) => sign !== ' '))
    throw new PatchError(`The hunk in line ${line} of the patch has no line that begins with "-" or "+"`);
  // After `-0,0` it is put before the first line.
  const expected = Math.max(1, Number(oldStart) + (Number(oldCount) === 0 ? 1 : 0));
  return { number, line, anchors: [], expected, lines: found, isAtEnd: false, endsWithNewline };
}

function signed(line: string): HunkLine {
  const sign = line.charAt(0);
  return sign === '+' || sign === '-' ? { sign, text: line.slice(1) } : { sign: ' ', text: line.slice(1) };
}
