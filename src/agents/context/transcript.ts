import type { TranscriptEntry } from '#libs/model-client/index.js';
import type { ConversationRow, MessagePart } from '../chats/index.js';

/** A message and what its tools gave back, as a summarizer reads it; reasoning is left out. */
export function entriesOf(row: ConversationRow): TranscriptEntry[] {
  if (row.role === 'summary') {
    const [summary = '', ...request] = row.content.map(textOf);
    const asked = request.map(text => ({ who: 'user', text }));
    return [...asked, { who: 'summary', text: summary }];
  }
  const said = row.content.map(textOf).filter(Boolean).join('\n');
  const calls = row.calls.flatMap(({ tool, input, output, is_error }) => [
    { who: `call ${tool}`, text: JSON.stringify(input) },
    { who: `result ${tool}`, text: `${is_error ? 'Failed: ' : ''}${output ?? '(no result)'}` },
  ]);
  return [...(said ? [{ who: row.role, text: said }] : []), ...calls];
}

const WRITERS: ReadonlySet<string> = new Set(['write_file', 'edit_file']);

/** Paths that the calls of these messages wrote to, by what they were asked. */
export function pathsWritten(rows: readonly ConversationRow[]): string[] {
  return rows.flatMap(({ calls }) =>
    calls.flatMap(({ tool, input, is_error }) => {
      const path = WRITERS.has(tool) && !is_error ? (input as { path?: unknown } | null)?.path : undefined;
      return typeof path === 'string' ? [path] : [];
    }),
  );
}

function textOf(part: MessagePart): string {
  if (part.type === 'attachment') return `(attached: ${part.path})`;
  return part.type === 'text' ? part.text : '';
}
