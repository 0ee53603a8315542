import { defaultLimits, type SandboxLimits, type SessionEnd, type SessionLoss } from '#libs/sandbox/index.js';
import { unreachedHost, WORKSPACE_EGRESS } from '../../workspaces/egress/index.js';
import type { ScriptResult } from '../../workspaces/sandboxes/index.js';
import { MAX_OUTPUT, shorten, type ToolResult } from './tool-provider.js';

/** Most that `timeout_seconds` may be. */
export const LONGEST_SECONDS = 3600;
/** A script that took longer is said to have. */
const SLOW_MS = 10_000;

interface Asked {
  /** The `timeout_seconds` of the call. */
  readonly seconds: number | undefined;
  /** Why it was stopped, where that was not its caller's wish. */
  readonly why: string | undefined;
  /** Whether its reader is told where the next script begins: others have that as a field of its own. */
  readonly tellsFolder: boolean;
  /** Which files it changed is not known. */
  readonly changesUnknown: boolean;
}

/** The result of a script as a model reads it: its output, then what has to be known beyond it. */
export function scriptReport(result: ScriptResult, asked: Asked): ToolResult {
  const { exit_code, ended_by, session_lost } = result;
  const before = session_lost ? [lostNote(session_lost)] : [];
  const { text: output, left } = withoutProgress(result.output);
  const notes = [...(left > 0 ? [progressNote(left)] : []), ...notesOf(result, asked)];
  const told = (text: string) => [...before, text.trimEnd(), ...notes].filter(Boolean).join('\n');
  const isError = ended_by !== 'exit' || exit_code !== 0;
  const known = { isError, exitCode: exit_code ?? undefined, workingDirectory: result.cwd ?? undefined };
  if (output.length > MAX_OUTPUT) return { ...known, output: told(shorten(output)), whole: told(output) };
  const text = told(output);
  return { ...known, output: isError ? text : text || '(no output)' };
}

const MiB = 1024 * 1024;

const LIMIT_NOTES: Record<Exclude<keyof SandboxLimits, 'wallMs'>, string> = {
  cpuSeconds: 'Killed: one of its processes used more CPU time than allowed.',
  memoryBytes: 'Killed: it used more memory than allowed.',
  outputBytes: 'Killed: it wrote more output than allowed.',
  processes: `It had more than ${defaultLimits.processes} processes and threads at once, and was refused more.`,
  fileBytes: `Killed: it made a file larger than ${defaultLimits.fileBytes / MiB} MiB.`,
  openFiles: `It had more than ${defaultLimits.openFiles} files open in one process, and was refused more.`,
  tmpBytes: `/tmp holds ${defaultLimits.tmpBytes / MiB} MiB and is full; larger files belong into the workspace.`,
};

const SESSION_NOTES: Record<SessionEnd, string> = {
  ended: 'The sandbox was ended from outside',
  killed: 'The sandbox was killed, perhaps by a command in it',
  memory: 'The sandbox was killed because its processes used more memory than allowed',
  output: 'The sandbox was killed because of a flood of output',
};

const TAKEN_UP = 'The sandbox ended when the run was interrupted or waited';

const NEW_ONE =
  'a new one starts in /workspace, without the variables, /tmp and background processes of before';

/** What the reader has to know beyond the output. */
function notesOf(result: ScriptResult, asked: Asked): string[] {
  const {
    output,
    exit_code,
    ended_by,
    truncated,
    limit,
    session_ended,
    duration_ms,
    cwd,
    cwd_before,
    egress_refused = [],
  } = result;
  const notes: string[] = [];
  if (truncated) notes.push('Output beyond the limit is left out.');
  if (output.includes('No space left on device')) notes.push(LIMIT_NOTES.tmpBytes);
  if (ended_by === 'stopped') notes.push(asked.why ?? 'Killed: the run was stopped.');
  else if (limit === 'wallMs') notes.push(timeNote(result, asked.seconds));
  else if (limit !== null && !(limit === 'outputBytes' && ended_by === 'exit'))
    notes.push(LIMIT_NOTES[limit]);
  if (ended_by === 'exit' && exit_code !== 0 && exit_code !== null) notes.push(`Exit code ${exit_code}.`);
  if (ended_by !== 'stopped' && limit !== 'wallMs' && duration_ms >= SLOW_MS)
    notes.push(`It took ${secondsOf(duration_ms)} s.`);
  if ((ended_by !== 'exit' || exit_code !== 0) && asks(output, limit === 'wallMs')) notes.push(PROMPT_NOTE);
  if (asked.tellsFolder && cwd && cwd !== cwd_before && !session_ended)
    notes.push(`Working directory: ${cwd}`);
  if (session_ended) notes.push(`${SESSION_NOTES[session_ended]}; with the next command ${NEW_ONE}.`);
  if (asked.changesUnknown) notes.push('Which files it changed is not known yet, and is logged later.');
  if (egress_refused.length > 0) notes.push(`Refused connections: ${egress_refused.join(' ')}`);
  else if (exit_code !== 0) notes.push(...unreachedNotes(output));
  return notes;
}

/** A program that does not know of the proxy, or a sandbox without one. */
function unreachedNotes(output: string): string[] {
  const host = unreachedHost(output);
  return host === undefined ? [] : [`${host} cannot be reached from here. ${WORKSPACE_EGRESS.advice}`];
}

function lostNote(loss: SessionLoss): string {
  const why = loss === 'taken_up' ? TAKEN_UP : SESSION_NOTES[loss];
  return `(${why} since the last command; ${NEW_ONE}.)`;
}

const secondsOf = (ms: number): number => Math.round(ms / 1000);

function timeNote({ duration_ms }: ScriptResult, seconds: number | undefined): string {
  const limit =
    seconds === undefined
      ? `allowed where timeout_seconds is not given (${secondsOf(duration_ms)} s)`
      : `allowed by timeout_seconds=${seconds}`;
  return `Killed: it took longer than ${limit}. Give it more with timeout_seconds (at most ${LONGEST_SECONDS}), do less at once, or in one agent run or session let it go on with run_in_background.`;
}

const PROMPT_NOTE =
  "It seems to have asked something, and nothing can be typed in: give the answer beforehand, by an option such as --yes or by its input, as in `printf 'y\\n' | command`.";

/** Of the last line, so much is looked at. */
const MAX_PROMPT = 300;
const CHOICE = /[[(]y(?:es)?\/n(?:o)?[\])]/i;
/** What programs say that would have read an answer. */
const UNANSWERED = /EOF when reading a line|(?:stdin|standard input|input device) is not a (?:tty|terminal)/i;
const SECRET = /(?:password|passphrase|username)[^:]*: ?$/i;

/** Whether the last words of an output ask for an answer; a question by itself only counts where something was waited for. */
function asks(output: string, hasWaited: boolean): boolean {
  const last = output.slice(-MAX_PROMPT).replace(/[\r\n]+$/, '');
  const line = last.slice(last.lastIndexOf('\n') + 1);
  if (UNANSWERED.test(last) || CHOICE.test(line) || SECRET.test(line)) return true;
  return hasWaited && !output.endsWith('\n') && /[?:>] ?$/.test(line);
}

/** Lines without what a carriage return let be written over, as a terminal would show them in the end. */
function withoutProgress(output: string): { readonly text: string; readonly left: number } {
  if (!output.includes('\r')) return { text: output, left: 0 };
  let left = 0;
  const lines = output.split('\n').map(line => {
    const states = line.split('\r');
    const last = states.findLastIndex(state => state !== '');
    if (last <= 0) return line;
    left += last;
    return states.slice(last).join('\r');
  });
  return { text: lines.join('\n'), left };
}

const progressNote = (left: number): string =>
  `(Left out: what was written over after a carriage return, ${left} times.)`;
