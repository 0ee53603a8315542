import { hash, verify } from '@node-rs/argon2';

/** Argon2id (the library's default) with 19 MiB, 2 passes, 1 lane: the first recommendation of OWASP's Password Storage Cheat Sheet. */
const OPTIONS = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

let decoy: Promise<string> | undefined;

/** The hash to store, in PHC string format. */
export function hashPassword(password: string): Promise<string> {
  return hash(password, OPTIONS);
}

/** Whether `password` is the one that was hashed. Takes as long for an account that does not exist (no hash). */
export async function passwordMatches(stored: string | undefined, password: string): Promise<boolean> {
  decoy ??= hashPassword('decoy');
  const matches = await verify(stored ?? (await decoy), password);
  return stored !== undefined && matches;
}
