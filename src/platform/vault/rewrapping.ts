import { Injectable, OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import { Chore } from '../jobs/index.js';
import { Log } from '../log/index.js';
import { type KeyRing, open, rewrap } from './key-ring.js';
import { RootKeys } from './root-keys.js';
import { Vault } from './vault.service.js';
import { VaultStore } from './vault.store.js';

const BATCH = 500;
const FIRST_ID = '00000000-0000-0000-0000-000000000000';

/** Of a walk over the secrets: how many were done, and what kept the others from it. */
interface Outcome {
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

const HOUR_MS = 3_600_000;
/** Well below the time that a new root key waits before it is used. */
const RELOAD_MS = 300_000;

/** Keeps a process up to date with the keys of the vault, and brings all secrets under the first of them. */
@Injectable()
export class Rewrapping implements OnModuleInit, OnApplicationShutdown {
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly roots: RootKeys,
    private readonly store: VaultStore,
    private readonly vault: Vault,
    private readonly log: Log,
  ) {}

  async onModuleInit(): Promise<void> {
    this.timer = setInterval(() => void this.reload(), RELOAD_MS).unref();
    const missing = await this.vault.missingKey();
    if (missing)
      this.log.error({ key: missing }, 'a stored secret needs a vault key that this process lacks');
  }

  onApplicationShutdown(): void {
    clearInterval(this.timer);
  }

  @Chore('vault_rewrap', { everyMs: HOUR_MS })
  async rewrap(): Promise<void> {
    await this.roots.reload();
    const { done, failures } = await rewrapAll(this.store, this.roots.ring);
    if (done > 0) this.log.info({ secrets: done, key: this.roots.ring.first.id }, 'vault: secrets rewrapped');
    for (const failure of failures) this.log.error({ err: failure }, 'vault: a secret cannot be rewrapped');
  }

  private async reload(): Promise<void> {
    try {
      await this.roots.reload();
    } catch (error) {
      this.log.warn({ err: error }, 'vault: reloading the keys failed');
    }
  }
}
