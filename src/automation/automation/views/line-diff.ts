import { formatPatch, OMIT_HEADERS, structuredPatch } from 'diff';

const CONTEXT_LINES = 3;
/** Texts that differ by more lines are shown as replaced: to find what they share takes too long. */
const MAX_EDITS = 1_000;

/** What changes one text into another, as a unified diff without the names of files; empty where they are the same. */
export function lineDiff(before: string, after: string): string {
  if (before === after) return '';
  const [old, fresh] = [withLineEnd(before), withLineEnd(after)];
  const patch = structuredPatch('', '', old, fresh, '', '', {
    context: CONTEXT_LINES,
    maxEditLength: MAX_EDITS,
  });
  return patch ? formatPatch(patch, OMIT_HEADERS) : replaced(old, fresh);
}

const withLineEnd = (text: string): string => (text === '' || text.endsWith('\n') ? text : `${text}\n`);

function replaced(before: string, after: string): string {
  const [old, fresh] = [before, after].map(text => text.split('\n').slice(0, -1));
  const head = `@@ -1,${old?.length} +1,${fresh?.length} @@`;
  const lines = [head, ...(old ?? []).map(line => `-${line}`), ...(fresh ?? []).map(line => `+${line}`)];
  return lines.map(line => `${line}\n`).join('');
}
