import { isAbsolute, normalize } from 'node:path';
import { SandboxRefusal } from './errors.js';
import type { Owner, SandboxRequest } from './sandbox.js';

/** Below are the system's own users, and people. */
export const MIN_OWNER_ID = 200_000;

/** What every driver demands of a request before it starts anything. */
export function checkRequest(request: SandboxRequest): void {
  if (!isAbsolute(request.workspace)) throw new SandboxRefusal('The workspace must be an absolute path');
  if (request.argv.length === 0) throw new SandboxRefusal('There is no command to run');
  if ([request.workspace, ...request.argv].some(hasNul)) {
    throw new SandboxRefusal('A command may not contain NUL characters');
  }
  for (const [name, value] of Object.entries(request.env ?? {})) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
      throw new SandboxRefusal(`${name} is not a name for a variable`);
    if (hasNul(value)) throw new SandboxRefusal(`The variable ${name} may not contain NUL characters`);
  }
}

/** The starting folder as a clean relative path that stays inside by its own words (links are another matter). */
export function relativeFolder(cwd = '.'): string {
  const folder = normalize(cwd);
  if (isAbsolute(folder) || folder === '..' || folder.startsWith('../') || hasNul(folder)) {
    throw new SandboxRefusal('The folder to start in must lie inside the workspace');
  }
  return folder;
}

/**
 * The user a command runs as on the host, or undefined to stay who we are. Root never stays root: the
 * kernel maps the user inside to the caller, and to be root outside is more than any sandbox may risk.
 */
export function effectiveOwner(owner: Owner | undefined, callerUid: number): Owner | undefined {
  if (callerUid !== 0) return undefined;
  if (!owner) throw new SandboxRefusal('A service that runs as root must name an owner for each command');
  if (!(owner.uid >= MIN_OWNER_ID && owner.gid >= MIN_OWNER_ID)) {
    throw new SandboxRefusal(`The owner of a command must have a uid and gid of at least ${MIN_OWNER_ID}`);
  }
  return owner;
}

function hasNul(text: string): boolean {
  return text.includes('\0');
}

/** The user that the service runs as. */
export function callerUid(): number {
  return process.getuid?.() ?? -1;
}
