/** Lines around a change that are shown with it. */
const CONTEXT = 3;
/** Beyond so many pairs of lines, all between the first and the last difference counts as replaced. */
const MAX_PAIRS = 1_000_000;

type Line = readonly [sign: ' ' | '-' | '+', text: string];

/** What changes one text into another, as a unified diff without the names of files; empty where they are the same. */
export function lineDiff(before: string, after: string): string {
  if (before === after) return '';
  const lines = changesOf(linesOf(before), linesOf(after));
  const isShown = lines.map((_, at) =>
    lines.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).some(([sign]) => sign !== ' '),
  );
  const parts: string[] = [];
  let [old, fresh] = [1, 1];
  for (let at = 0; at < lines.length; ) {
    const end = isShown[at] ? endOf(isShown, at) : at + 1;
    const hunk = lines.slice(at, end);
    const removed = hunk.filter(([sign]) => sign !== '+').length;
    const added = hunk.filter(([sign]) => sign !== '-').length;
    if (isShown[at]) {
      parts.push(`@@ -${rangeOf(old, removed)} +${rangeOf(fresh, added)} @@`);
      parts.push(...hunk.map(([sign, text]) => `${sign}${text}`));
    }
    [old, fresh, at] = [old + removed, fresh + added, end];
  }
  return `${parts.join('\n')}\n`;
}

const linesOf = (text: string): string[] => (text === '' ? [] : text.replace(/\n$/, '').split('\n'));

const rangeOf = (from: number, count: number): string => `${count === 0 ? from - 1 : from},${count}`;

function endOf(isShown: readonly boolean[], from: number): number {
  const end = isShown.indexOf(false, from);
  return end < 0 ? isShown.length : end;
}

function changesOf(before: readonly string[], after: readonly string[]): Line[] {
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && before[head] === after[head]) head++;
  let tail = 0;
  while (tail < shorter - head && before.at(-1 - tail) === after.at(-1 - tail)) tail++;
  const same = (lines: readonly string[]) => lines.map((text): Line => [' ', text]);
  return [
    ...same(before.slice(0, head)),
    ...replaced(before.slice(head, before.length - tail), after.slice(head, after.length - tail)),
    ...same(before.slice(before.length - tail)),
  ];
}

/** By the longest common subsequence of both. */
function replaced(before: readonly string[], after: readonly string[]): Line[] {
  const [rows, columns] = [before.length, after.length];
  if (rows * columns > MAX_PAIRS)
    return [...before.map((text): Line => ['-', text]), ...after.map((text): Line => ['+', text])];
  const width = columns + 1;
  const lengths = new Uint32Array((rows + 1) * width);
  const at = (row: number, column: number) => lengths[row * width + column] as number;
  for (let row = rows - 1; row >= 0; row--)
    for (let column = columns - 1; column >= 0; column--)
      lengths[row * width + column] =
        before[row] === after[column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1));
  const lines: Line[] = [];
  let [row, column] = [0, 0];
  while (row < rows || column < columns)
    if (row < rows && column < columns && before[row] === after[column]) {
      lines.push([' ', before[row++] as string]);
      column++;
    } else if (column >= columns || (row < rows && at(row + 1, column) >= at(row, column + 1)))
      lines.push(['-', before[row++] as string]);
    else lines.push(['+', after[column++] as string]);
  return lines;
}
