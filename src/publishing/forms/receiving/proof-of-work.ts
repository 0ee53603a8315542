import { hash, randomInt } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { type Challenge, createChallenge, type Payload, verifySolution } from 'altcha-lib';
import { deriveKey } from 'altcha-lib/algorithms/pbkdf2';
import { LRUCache } from 'lru-cache';
import { type Seal, Vault } from '../../../platform/vault/index.js';
import type { FormDefinition } from '../file/form-definition.js';
import { SubmissionsStore } from '../records/submissions.store.js';

/** A second or two of one core: each try is so many rounds, and so many tries find it. */
const ROUNDS = 2_000;
const TRIES = { least: 400, most: 1_200 };
const LASTS_MS = 20 * 60_000;
const MAX_PAYLOAD = 4_000;

/** So many responses in so many seconds, and browsers have to work for more. */
const PRESSURE = { responses: 30, seconds: 600 };
const KNOWN_MS = 2_000;
const MAX_KNOWN = 1_000;

/** What browsers compute before they send, where many send. A challenge is good for one form, for a while, once. */
@Injectable()
export class ProofOfWork {
  private readonly seal: Seal;
  private readonly known = new LRUCache<string, Promise<boolean>>({ max: MAX_KNOWN, ttl: KNOWN_MS });

  constructor(
    private readonly submissions: SubmissionsStore,
    vault: Vault,
  ) {
    this.seal = vault.seal('form challenges');
  }

  async isNeeded(formId: string, { protection }: Pick<FormDefinition, 'protection'>): Promise<boolean> {
    if (protection !== 'auto') return protection === 'pow';
    const known = this.known.get(formId);
    if (known) return known;
    const isNeeded = this.submissions.isPressed(formId, PRESSURE);
    isNeeded.catch(() => this.known.delete(formId));
    this.known.set(formId, isNeeded);
    return isNeeded;
  }

  challenge(formId: string): Promise<Challenge> {
    return createChallenge({
      algorithm: 'PBKDF2/SHA-256',
      cost: ROUNDS,
      counter: randomInt(TRIES.least, TRIES.most),
      deriveKey,
      data: { form: formId },
      expiresAt: new Date(Date.now() + LASTS_MS),
      ...this.secrets(this.keys()[0] ?? ''),
    });
  }

  /** Whether the challenge is one of ours for this form, solved, in time and not spent before; it is spent then. */
  async isSolved(formId: string, text: string): Promise<boolean> {
    const payload = read(text);
    if (!payload || payload.challenge.parameters?.data?.form !== formId) return false;
    if (!(await this.isRight(payload))) return false;
    const { nonce, salt, expiresAt } = payload.challenge.parameters;
    const until = new Date((expiresAt ?? 0) * 1000);
    return this.submissions.spend(hash('sha256', `${nonce} ${salt}`, 'base64url'), until);
  }

  /** Challenges that were made before the key changed are good for their time. */
  private async isRight({ challenge, solution }: Payload): Promise<boolean> {
    for (const key of this.keys()) {
      const result = await verifySolution({ challenge, solution, deriveKey, ...this.secrets(key) });
      if (result.verified) return true;
    }
    return false;
  }

  private secrets(key: string) {
    return { hmacSignatureSecret: key, hmacKeySignatureSecret: `${key} keys` };
  }

  private keys(): string[] {
    return this.seal.keys().map(key => key.toString('base64url'));
  }
}

function read(text: string): Payload | undefined {
  if (text.length === 0 || text.length > MAX_PAYLOAD) return undefined;
  try {
    const payload = JSON.parse(Buffer.from(text, 'base64').toString());
    const isWhole =
      typeof payload?.challenge?.parameters?.nonce === 'string' &&
      typeof payload.challenge.parameters.salt === 'string' &&
      typeof payload.solution === 'object';
    // What it costs to check is what we asked for, whatever it says.
    const { cost, algorithm, keyLength } = payload?.challenge?.parameters ?? {};
    return isWhole && cost === ROUNDS && algorithm === 'PBKDF2/SHA-256' && keyLength <= 64
      ? payload
      : undefined;
  } catch {
    return undefined;
  }
}
