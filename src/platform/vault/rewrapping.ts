import { Injectable, OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import { Chore } from '../jobs/index.js';
import { Log } from '../log/index.js';
import { RootKeys } from './root-keys.js';
import { rewrapAll } from './upkeep.js';
import { Vault } from './vault.service.js';
import { VaultStore } from './vault.store.js';

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
    if (missing) this.log.error({ key: missing }, 'a stored secret needs a vault key that is not here');
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
      this.log.warn({ err: error }, 'vault: the keys could not be read again');
    }
  }
}
