import { Injectable } from '@nestjs/common';
import { Config } from '../../../platform/config/index.js';
import { Database } from '../../../platform/database/index.js';
import { NotFound } from '../../../platform/errors/index.js';
import { Vault } from '../../../platform/vault/index.js';
import { PreferencesStore } from '../preferences/preferences.store.js';

/** The page that links in mails lead to; below it, by the token. */
export const UNSUBSCRIBE_PAGE = '/notifications/unsubscribe';
const PURPOSE = 'notifications unsubscribe';

/** What a token lets its holder turn off. */
export interface Subscription {
  readonly userId: string;
  readonly channel: string;
  readonly types: readonly string[];
}

/**
 * Turns notifications off for who has a link out of a mail, without a sign-in. A token says nothing to others, opens
 * nothing else and never expires: it is sealed, not signed, as signatures are retired with their keys.
 */
@Injectable()
export class Unsubscribing {
  constructor(
    private readonly config: Config,
    private readonly vault: Vault,
    private readonly database: Database,
    private readonly preferences: PreferencesStore,
  ) {}

  linkFor(subscription: Subscription): string {
    const token = this.vault.seal(PURPOSE).close(JSON.stringify(subscription), PURPOSE).toString('base64url');
    return `${this.config.baseUrl}${UNSUBSCRIBE_PAGE}/${token}`;
  }

  /** Throws NotFound for a token that we did not make. */
  read(token: string): Subscription {
    const text = this.vault.seal(PURPOSE).open(Buffer.from(token, 'base64url'), PURPOSE);
    if (!text) throw new NotFound('This link is not one that we sent');
    return JSON.parse(text.toString()) as Subscription;
  }

  /** Done twice, it does the same. */
  async unsubscribe(token: string): Promise<void> {
    const { userId, channel, types } = this.read(token);
    await this.database.transaction(async unit => {
      for (const type of types) await this.preferences.turnOff(unit, userId, type, channel);
    });
  }
}
