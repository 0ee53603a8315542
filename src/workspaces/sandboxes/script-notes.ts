import { defaultLimits, type SandboxLimits, type SessionEnd } from '#libs/sandbox/index.js';
import type { ScriptResult, SessionLoss } from './script-result.js';

const MiB = 1024 * 1024;

/** What is said of a script that a limit has ended, or that ran into one. */
const LIMIT_NOTES: Record<keyof SandboxLimits, string> = {
  wallMs: 'Killed: it took longer than allowed.',
  cpuSeconds: 'Killed: one of its processes used more CPU time than allowed.',
  memoryBytes: 'Killed: it used more memory than allowed.',
  outputBytes: 'Killed: it wrote more output than allowed.',
  processes: `It had more than ${defaultLimits.processes} processes and threads at once, and was refused more.`,
  fileBytes: `Killed: it made a file larger than ${defaultLimits.fileBytes / MiB} MiB.`,
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

/**
 * How a script ended, in sentences for whoever ran it; none for one that did what it should.
 *
 * @param why it was stopped
 */
export function notesOf(result: ScriptResult, why = 'Killed: the run was stopped.'): string[] {
  const { output, exit_code, ended_by, truncated, limit, session_ended, egress_refused = [] } = result;
  const notes: string[] = [];
  if (truncated) notes.push('Output beyond the limit is left out.');
  if (output.includes('No space left on device')) notes.push(LIMIT_NOTES.tmpBytes);
  if (ended_by === 'stopped') notes.push(why);
  else if (limit !== null && !(limit === 'outputBytes' && ended_by === 'exit'))
    notes.push(LIMIT_NOTES[limit]);
  if (ended_by === 'exit' && exit_code !== 0 && exit_code !== null) notes.push(`Exit code ${exit_code}.`);
  if (session_ended) notes.push(`${SESSION_NOTES[session_ended]}; with the next command ${NEW_ONE}.`);
  if (egress_refused.length > 0) notes.push(`Refused connections: ${egress_refused.join(' ')}`);
  return notes;
}

/** What is said first where the sandbox of before was gone. */
export function lostNote(loss: SessionLoss): string {
  const why = loss === 'taken_up' ? TAKEN_UP : SESSION_NOTES[loss];
  return `(${why} since the last command; ${NEW_ONE}.)`;
}
