import { Injectable, OnModuleInit } from '@nestjs/common';
import {
  type CryptoKey,
  calculateJwkThumbprint,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
} from 'jose';
import { Database, type UnitOfWork } from '../../../platform/database/index.js';
import { Chore } from '../../../platform/jobs/index.js';
import { defineTopic, Topics } from '../../../platform/topics/index.js';
import { type OpenedSecret, SETTLE_MS, settled, Vault } from '../../../platform/vault/index.js';
import { SigningKeysStore } from './signing-keys.store.js';

interface SigningKey {
  readonly id: string;
  /** Of its secret in the vault. */
  readonly secretId: string;
  /** With its private part. */
  readonly jwk: JWK;
  readonly verifier: CryptoKey | Uint8Array;
  readonly createdAt: Date;
}

/** The signing keys as they stand, newest first. */
export class KeyRing {
  constructor(readonly keys: readonly SigningKey[]) {}

  /** A new key is shown to the world for a while before it signs, so that every process and every verifier knows it. */
  signing(now = Date.now()): SigningKey {
    const key = settled(this.keys, now);
    if (!key) throw new Error('There is no signing key');
    return key;
  }

  find(id: string | undefined): SigningKey | undefined {
    return this.keys.find(key => key.id === id);
  }

  /** As oidc-provider takes them: the one that signs comes first. */
  privateJwks(): JWK[] {
    const first = this.signing();
    return [first, ...this.keys.filter(key => key !== first)].map(({ jwk }) => jwk);
  }
}

export const SIGNING_ALGORITHM = 'ES256';

const TOPIC = defineTopic('oauth-signing-keys')();
const DAY_MS = 86_400_000;
/** Age at which a key gets a successor. */
const LIFE_MS = 30 * DAY_MS;
/** How long a key is still shown after its successor began to sign: longer than any token lives. */
const AFTERLIFE_MS = DAY_MS;
const MIN_RELOAD_MS = 10_000;

/** Where the vault keeps them. */
const VAULT_PLACE = 'oauth_signing_key';

/** The keys that sign tokens: in the vault, the same for all processes, replaced one by one. */
@Injectable()
export class SigningKeys implements OnModuleInit {
  private ring: Promise<KeyRing> | undefined;
  private loadedAt = 0;

  constructor(
    private readonly database: Database,
    private readonly store: SigningKeysStore,
    private readonly vault: Vault,
    private readonly topics: Topics,
  ) {}

  onModuleInit(): void {
    this.topics.subscribe(TOPIC, () => this.forget());
  }

  /** The ring of now; the same object as long as the keys are the same. The first call ever makes the first key. */
  current(): Promise<KeyRing> {
    if (this.ring) return this.ring;
    this.loadedAt = Date.now();
    const loading = this.load();
    // A failure is not kept: the next call tries again.
    loading.catch(() => {
      this.ring = undefined;
    });
    this.ring = loading;
    return loading;
  }

  /** Reads the keys again at their next use. */
  forget(): void {
    this.ring = undefined;
  }

  /** The key with this id, also one that was made a moment ago. */
  async find(id: string | undefined): Promise<SigningKey | undefined> {
    const known = (await this.current()).find(id);
    if (known || Date.now() - this.loadedAt < MIN_RELOAD_MS) return known;
    this.forget();
    return (await this.current()).find(id);
  }

  /** Makes a successor for a key that is old, and forgets keys whose tokens have all ended. */
  @Chore('oauth-signing-keys', { everyMs: DAY_MS / 4 })
  async rotate(): Promise<void> {
    const ring = await this.current();
    const [newest] = ring.keys;
    const now = Date.now();
    const due = !newest || newest.createdAt.getTime() + LIFE_MS <= now;
    const spent = spentKeys(ring, now);
    if (!due && spent.length === 0) return;
    await this.database.transaction(async unit => {
      if (due) await this.make(unit, new Date(now - LIFE_MS));
      if (spent.length > 0) await this.vault.remove(unit, spent);
      await this.topics.publishOnCommit(unit, TOPIC);
    });
    this.forget();
  }

  private async load(): Promise<KeyRing> {
    const ring = await this.read();
    if (ring.keys.length > 0) return ring;
    await this.database.transaction(unit => this.make(unit, new Date(0)));
    return this.read();
  }

  private async read(): Promise<KeyRing> {
    const secrets = await this.vault.list(VAULT_PLACE);
    return new KeyRing(await Promise.all(secrets.map(signingKeyOf)));
  }

  /** Makes a key unless another process made one since `unlessSince`. */
  private async make(unit: UnitOfWork, unlessSince: Date): Promise<void> {
    await this.store.lock(unit);
    const [newest] = await this.vault.list(VAULT_PLACE, unit);
    if (newest && newest.createdAt > unlessSince) return;
    const { privateKey } = await generateKeyPair(SIGNING_ALGORITHM, { extractable: true });
    const bare = await exportJWK(privateKey);
    const id = await calculateJwkThumbprint(bare);
    const jwk: JWK = { ...bare, kid: id, alg: SIGNING_ALGORITHM, use: 'sig' };
    await this.vault.put(unit, { place: VAULT_PLACE, organization_id: null }, JSON.stringify(jwk));
  }
}

async function signingKeyOf({ id: secretId, secret, createdAt }: OpenedSecret): Promise<SigningKey> {
  const jwk = JSON.parse(secret.reveal()) as JWK;
  const { d: _private, ...publicJwk } = jwk;
  const verifier = await importJWK(publicJwk, SIGNING_ALGORITHM);
  return { id: String(jwk.kid), secretId, jwk, verifier, createdAt };
}

/** Keys whose successor has signed for long enough that nothing they signed is valid any more. */
function spentKeys({ keys }: KeyRing, now: number): string[] {
  return keys
    .filter((_, index) => {
      const successor = keys[index - 1];
      return successor && successor.createdAt.getTime() + SETTLE_MS + AFTERLIFE_MS <= now;
    })
    .map(({ secretId }) => secretId);
}
