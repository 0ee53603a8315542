import { open, rewrap } from './envelope.js';
import type { KeyRing } from './key-ring.js';
import type { VaultStore } from './vault.store.js';

const BATCH = 500;
const FIRST_ID = '00000000-0000-0000-0000-000000000000';

/** Of a walk over the secrets: how many were done, and what kept the others from it. */
export interface Outcome {
  done: number;
  failures: Error[];
}

/** Wraps with the first key what another one wraps, a batch a transaction. What does not open stays as it is. */
export async function rewrapAll(store: VaultStore, ring: KeyRing): Promise<Outcome> {
  const outcome: Outcome = { done: 0, failures: [] };
  let after: string | undefined = FIRST_ID;
  while (after) {
    const from: string = after;
    after = await store.database.transaction(async unit => {
      const rows = await store.batch(from, BATCH, ring.first.id, unit);
      for (const row of rows) {
        const wrapped = attempt(outcome, () => rewrap(ring, row));
        if (wrapped) await store.rewrap(unit, row.id, wrapped);
      }
      return rows.length < BATCH ? undefined : rows.at(-1)?.id;
    });
  }
  return outcome;
}

/** Opens every secret, and keeps nothing of it. */
export async function verifyAll(store: VaultStore, ring: KeyRing): Promise<Outcome> {
  const outcome: Outcome = { done: 0, failures: [] };
  let after: string | undefined = FIRST_ID;
  while (after) {
    const rows = await store.batch(after, BATCH, null);
    for (const row of rows) attempt(outcome, () => open(ring, row));
    after = rows.length < BATCH ? undefined : rows.at(-1)?.id;
  }
  return outcome;
}

function attempt<T>(outcome: Outcome, work: () => T): T | undefined {
  try {
    const result = work();
    outcome.done++;
    return result;
  } catch (error) {
    outcome.failures.push(error as Error);
    return undefined;
  }
}
