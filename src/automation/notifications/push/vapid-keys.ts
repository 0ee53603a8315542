import { Injectable } from '@nestjs/common';
import type { VapidKeys as KeyPair } from 'web-push';
import { Config } from '../../../platform/config/index.js';
import { Database, dryRun } from '../../../platform/database/index.js';
import { Vault } from '../../../platform/vault/index.js';
import { SubscriptionsStore } from './subscriptions.store.js';

/** What the secret is kept as: never change it. */
const PLACE = 'vapid_keys';
/** Names that push services do not take: Apple answers 403 BadJwtToken. */
const LOCAL = /(^|\.)(localhost|local|internal|invalid|test)$|^[\d.]+$|^\[/;

export type VapidPair = KeyPair;

/** Why there is no push. */
export const PUSH_IS_OFF =
  'Push is off here: push services ask for a way to reach who sends, so the operator has to set PUBLIC_URL to an https ' +
  'address, or MAIL_FROM, at a public name';

/** The keys by which push services know this installation (RFC 8292). Browsers are subscribed with the public one. */
@Injectable()
export class VapidKeys {
  private known: VapidPair | undefined;

  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly vault: Vault,
    private readonly subscriptions: SubscriptionsStore,
  ) {}

  /** How push services reach who sends; undefined where there is no way, so that there is no push. */
  get subject(): string | undefined {
    const { publicUrl, mailFrom } = this.config;
    const url = publicUrl && URL.parse(publicUrl);
    if (url && url.protocol === 'https:' && !LOCAL.test(url.hostname)) return url.origin;
    const [, address, domain = ''] = /([^\s<>]+@([^\s<>]+))>?\s*$/.exec(mailFrom ?? '') ?? [];
    return address && domain.includes('.') && !LOCAL.test(domain) ? `mailto:${address}` : undefined;
  }

  /** The pair of the installation; the first call ever makes it. */
  async pair(): Promise<VapidPair> {
    if (this.known) return this.known;
    const pair = (await this.read()) ?? (await this.make());
    // What a dry run makes is undone.
    if (!dryRun()) this.known = pair;
    return pair;
  }

  private async read(within: Pick<Database, 'tables'> = this.database): Promise<VapidPair | undefined> {
    // There is one, unless databases were merged by hand: then all use the oldest.
    const oldest = (await this.vault.list(PLACE, within)).at(-1);
    return oldest && (JSON.parse(oldest.secret.reveal()) as VapidPair);
  }

  private async make(): Promise<VapidPair> {
    const { default: webPush } = await import('web-push');
    return this.database.transaction(async unit => {
      await this.subscriptions.lockKeys(unit);
      const theirs = await this.read(unit);
      if (theirs) return theirs;
      const pair = webPush.generateVAPIDKeys();
      await this.vault.put(unit, { place: PLACE, organization_id: null }, JSON.stringify(pair));
      return pair;
    });
  }
}
