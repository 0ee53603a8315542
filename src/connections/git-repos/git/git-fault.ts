import {
  Conflict,
  Forbidden,
  InsufficientStorage,
  NotFound,
  type Problem,
  Unavailable,
} from '../../../platform/errors/index.js';
import { ENDS } from './scripts.js';

export interface GitEnd {
  readonly code: number | null;
  /** Why it was ended from outside. */
  readonly ended: string | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly truncated: boolean;
}

/** The folder has no repository any more that git reads; the message says why. */
export class RepositoryMissing extends Conflict {}

const NO_GIT = 127;
const MAX_SAID = 400;

/** Last line of stderr. */
export function lastLine(stderr: string): string {
  const lines = stderr
    .split(/[\r\n]+/)
    .map(line => line.replace(/^(fatal|error|remote|hint): ?/i, '').trim())
    .filter(line => line !== '');
  return (lines.at(-1) ?? 'git gave no reason').slice(0, MAX_SAID);
}

/** Git was not asked at all. */
export const hasNoRepository = ({ code }: GitEnd): boolean =>
  code !== null && [NO_GIT, ENDS.noFolder, ENDS.noRepository, ENDS.unreadable].includes(code);

/** Problem of a git process that failed, whatever it was asked. */
export function toProblem({ code, ended, stderr }: GitEnd): Problem | undefined {
  if (ended !== null) return new Unavailable(ended);
  if (code === 0) return undefined;
  if (code === NO_GIT) return new Unavailable('git is missing where commands run');
  if (code === ENDS.noFolder) return new RepositoryMissing('Its folder is gone');
  if (code === ENDS.noRepository)
    return new RepositoryMissing('Its folder has no .git folder of its own, and so is no repository');
  if (code === ENDS.unreadable) return new RepositoryMissing(`git does not read it: ${lastLine(stderr)}`);
  if (/unable to create '.*\.lock'.*file exists/is.test(stderr))
    return new Conflict(
      'Another git works in it; try again when that has ended (a lock that was left is removed after 15 minutes)',
    );
  if (/no space left|disk quota/i.test(stderr)) return new InsufficientStorage('There is no room left');
  return remoteFault(stderr) ?? localFault(stderr);
}

function remoteFault(stderr: string): Problem | undefined {
  const [, refusal] =
    /^(?:remote: )?(.* is not permitted from here.*|.* cannot be used: .*)$/m.exec(stderr) ?? [];
  if (refusal) return new Forbidden(refusal);
  if (
    /authentication failed|could not read (username|password)|requested URL returned error: 401/i.test(stderr)
  )
    return new Conflict(
      'The server did not accept the credential, or wants one: name a connection that is granted to the workspace, or authorize it again',
    );
  if (/requested URL returned error: 403|HTTP 403/i.test(stderr))
    return new Conflict('The server, or the grant of the connection, does not permit it (403)');
  if (/repository .* not found|requested URL returned error: 404/i.test(stderr))
    return new NotFound('The server has no such repository, or does not show it to this connection');
  if (
    /proxy CONNECT|CONNECT tunnel failed|could not resolve|failed to connect|connection (refused|reset|timed out)|requested URL returned error: 5\d\d|early EOF|RPC failed/i.test(
      stderr,
    )
  )
    return new Unavailable(`The server cannot be reached: ${lastLine(stderr)}`);
  if (/couldn't find remote ref|remote branch .* not found/i.test(stderr))
    return new NotFound('The remote has no such branch');
  return undefined;
}

function localFault(stderr: string): Problem {
  if (/would be overwritten|please commit your changes|unstaged changes|uncommitted changes/i.test(stderr))
    return new Conflict(
      'Changes that are not committed are in the way; commit them, or take them back, first',
    );
  if (
    /unknown revision|bad revision|ambiguous argument|not a valid object name|did not match any file|invalid reference/i.test(
      stderr,
    )
  )
    return new NotFound(`There is no such commit, branch or path here: ${lastLine(stderr)}`);
  return new Conflict(`git refused: ${lastLine(stderr)}`);
}
