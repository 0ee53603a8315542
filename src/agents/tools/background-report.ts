import type { BackgroundCommand, BackgroundReading } from './background-commands.js';
import { MAX_NEW_BYTES } from './background-scripts.js';
import type { ToolResult } from './tool-provider.js';

/** What a model reads of a command that has begun; `said` is what else was written meanwhile. */
export function startedReport({ id, file }: BackgroundCommand, said: string): string {
  const other = said === '(no output)' || said === '' ? [] : [said];
  return [
    ...other,
    `${id} runs in the background until it ends, this sandbox does, or bash_kill ends it. What it writes is in ${file}; bash_output gives what is new of that.`,
  ].join('\n');
}

/** The ids of the commands that {@link startedReport} tells of. */
export const startedInReport = (text: string): string[] =>
  [...text.matchAll(/^(c\d+) runs in the background until/gm)].map(([, id = '']) => id);

/** How a command stands and what is new of its output, as a model reads it. */
export function readingReport(reading: BackgroundReading): ToolResult {
  const { text, bytes, command, exitCode } = reading;
  const standing = standingText(reading);
  if (reading.state === 'bad_filter')
    return { output: 'filter is no regular expression that grep -E takes', isError: true };
  const left =
    bytes > MAX_NEW_BYTES ? [`(Of ${bytes} new bytes, the last; all of them are in ${command.file}.)`] : [];
  const shown = text === '' ? ['(no new output)'] : [text.trimEnd()];
  const known = { exitCode: exitCode ?? undefined, commandId: command.id };
  return { ...known, isError: false, output: [...left, ...shown, standing].join('\n') };
}

function standingText({ command, state, exitCode }: BackgroundReading): string {
  const { id, file, tookSeconds, startedAt } = command;
  switch (state) {
    case 'ended':
      return `${id} has ended: exit code ${exitCode}, after ${tookSeconds ?? '?'} s.`;
    case 'killed':
      return `${id} was killed.`;
    case 'gone':
      return `${id} ended with its sandbox. What it had written until then is in ${file}.`;
    case 'no_file':
      return `${id}: its file ${file} is gone, so its output cannot be read. bash_kill ends it.`;
    default:
      return `${id} is running, for ${Math.round((Date.now() - startedAt) / 1000)} s by now.`;
  }
}
