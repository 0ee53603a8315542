import { Injectable, OnModuleInit } from '@nestjs/common';
import {
  type CryptoKey,
  calculateJwkThumbprint,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
} from 'jose';
import { Database } from '../../../platform/database/index.js';
import { Chore } from '../../../platform/jobs/index.js';
import { defineTopic, Topics } from '../../../platform/topics/index.js';
import { settled, Vault } from '../../../platform/vault/index.js';
import { ViewerKeysStore } from './viewer-keys.store.js';

export const VIEWER_ALGORITHM = 'ES256';

interface ViewerKey {
  readonly id: string;
  /** Id of the secret in the vault. */
  readonly secretId: string;
  readonly publicJwk: JWK;
  readonly key: CryptoKey | Uint8Array;
  readonly createdAt: Date;
}

const PLACE = 'hosted_viewer_key';
/** Published when a key was added or removed. */
export const viewerKeysTopic = defineTopic('hosted-viewer-keys')();
const DAY_MS = 86_400_000;
/** Age at which a key gets a successor, and at which it is removed: all its tokens have expired by then. */
const LIFE_MS = 90 * DAY_MS;
const END_MS = LIFE_MS + 2 * DAY_MS;

/** Keys that sign viewer tokens, and nothing else. Stored in the vault, shared by all processes. */
@Injectable()
export class ViewerKeys implements OnModuleInit {
  private ring: Promise<ViewerKey[]> | undefined;

  constructor(
    private readonly database: Database,
    private readonly store: ViewerKeysStore,
    private readonly vault: Vault,
    private readonly topics: Topics,
  ) {}

  onModuleInit(): void {
    this.topics.subscribe(viewerKeysTopic, () => {
      this.ring = undefined;
    });
  }

  async signing(): Promise<ViewerKey> {
    const key = settled(await this.all());
    if (!key) throw new Error('There is no key for viewers');
    return key;
  }

  /** Public keys only. */
  async jwks(): Promise<{ keys: JWK[] }> {
    return { keys: (await this.all()).map(({ publicJwk }) => publicJwk) };
  }

  @Chore('hosted_viewer_keys', { everyMs: DAY_MS })
  async rotate(): Promise<void> {
    const keys = await this.all();
    const now = Date.now();
    const old = keys.slice(1).filter(({ createdAt }) => createdAt.getTime() + END_MS <= now);
    if (keys[0] && keys[0].createdAt.getTime() + LIFE_MS <= now) await this.make(LIFE_MS);
    await this.database.transaction(async unit => {
      await this.vault.remove(
        unit,
        old.map(({ secretId }) => secretId),
      );
      await this.topics.publishOnCommit(unit, viewerKeysTopic);
    });
    this.ring = undefined;
  }

  private all(): Promise<ViewerKey[]> {
    if (this.ring) return this.ring;
    const loading = this.load();
    loading.catch(() => {
      this.ring = undefined;
    });
    this.ring = loading;
    return loading;
  }

  private async load(): Promise<ViewerKey[]> {
    const keys = await this.read();
    if (keys.length > 0) return keys;
    await this.make();
    return this.read();
  }

  private async read(): Promise<ViewerKey[]> {
    const secrets = await this.vault.list(PLACE);
    return Promise.all(
      secrets.map(async ({ id: secretId, secret, createdAt }) => {
        const jwk = JSON.parse(secret.reveal()) as JWK;
        const { d: _private, ...publicJwk } = jwk;
        const key = await importJWK(jwk, VIEWER_ALGORITHM);
        return { id: String(jwk.kid), secretId, publicJwk, key, createdAt };
      }),
    );
  }

  /** Does nothing if another process has created a key younger than `maxAgeMs`. */
  private async make(maxAgeMs = Number.POSITIVE_INFINITY): Promise<void> {
    const { privateKey } = await generateKeyPair(VIEWER_ALGORITHM, { extractable: true });
    const jwk = await exportJWK(privateKey);
    const kid = await calculateJwkThumbprint(jwk);
    const value = JSON.stringify({ ...jwk, kid, alg: VIEWER_ALGORITHM, use: 'sig' });
    await this.database.transaction(async unit => {
      await this.store.lock(unit);
      const [newest] = await this.vault.list(PLACE, unit);
      if (newest && Date.now() - newest.createdAt.getTime() < maxAgeMs) return;
      await this.vault.put(unit, { place: PLACE, organization_id: null }, value);
      await this.topics.publishOnCommit(unit, viewerKeysTopic);
    });
  }
}
