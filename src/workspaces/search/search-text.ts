import type { FindingPage, FindingView } from './search.dto.js';

/** Findings as models read them: `path:3: text`, with `path-2- text` for the lines around it. */
export function textOf({ items, next_cursor, left_out: leftOut }: FindingPage): string {
  const lines = items.flatMap((item, at) => linesOf(item, items[at - 1], items[at + 1]));
  if (next_cursor) lines.push('… there are more: narrow it by path, glob or regex, or look at files_only');
  const found = lines.length > 0 ? lines : ['Nothing found'];
  if (leftOut)
    found.push(`(not searched, as over 8 MiB: ${leftOut.join(', ')}; search in one by giving it as path)`);
  return found.join('\n');
}

/** Lines around findings that are near each other are shown once. */
function linesOf(item: FindingView, last?: FindingView, next?: FindingView): string[] {
  const { path, line, excerpt, before, after, count } = item;
  if (line === null) return [path];
  if (count !== undefined)
    return [`${path} (${count} ${count === 1 ? 'line' : 'lines'}): ${line}: ${excerpt}`];
  const found = `${path}:${line}: ${excerpt}`;
  if (!before || !after) return [found];
  const shownTo = last?.path === path && last.line !== null ? endOf(last) : 0;
  const shownFrom = next?.path === path && next.line !== null ? next.line : Number.POSITIVE_INFINITY;
  const around = (texts: readonly string[], first: number) =>
    texts
      .map((text, at) => ({ text, number: first + at }))
      .filter(({ number }) => number > shownTo && number < shownFrom)
      .map(({ text, number }) => `${path}-${number}- ${text}`);
  const isApart = last !== undefined && line - before.length > shownTo + 1;
  const head = isApart || (last && last.path !== path) ? ['--'] : [];
  return [...head, ...around(before, line - before.length), found, ...around(after, firstAfter(item))];
}

const firstAfter = ({ line, excerpt }: FindingView): number => (line ?? 0) + excerpt.split('\n').length;

const endOf = (item: FindingView): number => firstAfter(item) - 1 + (item.after?.length ?? 0);
