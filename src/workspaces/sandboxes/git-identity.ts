import type { Actor } from '../../platform/access/index.js';
import type { FilesToShow } from './shown-files.js';

/** Where the configuration of the system is, which the one named by GIT_CONFIG_SYSTEM takes the place of. */
const OF_THE_SYSTEM = '/etc/gitconfig';
const FILE = 'gitconfig';
/** The address of those that have none; nobody can have the domain (RFC 2606). */
const NO_ADDRESS = 'noreply@atelier.invalid';

/**
 * Author and committer of what a sandbox commits, unless a repository or its user says otherwise: git reads the system's
 * configuration first, and variables such as GIT_AUTHOR_NAME would go before all others.
 */
export function gitIdentityOf({ name, email }: Pick<Actor, 'name' | 'email'>): FilesToShow {
  const config = `[include]\n\tpath = ${OF_THE_SYSTEM}\n[user]\n\tname = ${quoted(name)}\n\temail = ${quoted(email ?? NO_ADDRESS)}\n`;
  return {
    to: '/etc/git',
    files: { [FILE]: config },
    env: folder => ({ GIT_CONFIG_SYSTEM: `${folder}/${FILE}` }),
  };
}

/** A value as git-config(1) reads it: in quotes, on one line. */
function quoted(value: string): string {
  return `"${value.replace(/\p{Cc}+/gu, ' ').replace(/["\\]/g, '\\$&')}"`;
}
