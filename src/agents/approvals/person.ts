import type { Actor } from '../../platform/access/index.js';
import { Forbidden } from '../../platform/errors/index.js';

/**
 * Refuses what acts for an agent: a run, what it started, an application that was let in. Else an agent could allow itself
 * what a person is to be asked about. (403)
 */
export function requirePerson({ credential: { type } }: Actor, what: string): void {
  if (type !== 'session' && type !== 'api_key')
    throw new Forbidden(`Only a person, signed in or by an API key, can ${what}`);
}

/** As {@link requirePerson}; of a call that a program makes with a key, the key itself cannot decide. (403) */
export function requireSignIn({ credential: { type } }: Actor, what: string): void {
  if (type !== 'session') throw new Forbidden(`Only a person who is signed in can ${what}`);
}
