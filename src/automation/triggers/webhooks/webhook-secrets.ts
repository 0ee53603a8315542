import { hash, randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { newStandardSecret } from '#libs/webhooks/index.js';
import { Config } from '../../../platform/config/index.js';
import { type Seal, Vault } from '../../../platform/vault/index.js';
import type { TriggerRow, Verification } from '../../automation/index.js';

export const HOOKS = '/api/hooks';
const SECRET_BYTES = 32;
/** What is replaced is good for so long. */
export const OVERLAP_MS = 24 * 3_600_000;

/** A secret as the row of its trigger keeps it. */
export interface KeptSecret {
  /** Base64. */
  readonly sealed: string;
  /** ISO; null: it is the one that counts. */
  readonly until: string | null;
}

/** The addresses of webhooks, and the secrets by which their senders sign. */
@Injectable()
export class WebhookSecrets {
  private readonly seal: Seal;

  constructor(
    private readonly config: Config,
    vault: Vault,
  ) {
    this.seal = vault.seal('automation.webhook');
  }

  /** A new address, and the hash by which it is found. */
  newAddress(): { url: string; tokenHash: string } {
    const token = randomBytes(SECRET_BYTES).toString('base64url');
    return { url: `${this.config.baseUrl}${HOOKS}/${token}`, tokenHash: tokenHashOf(token) };
  }

  /** A new secret; null where the sender makes it, or where there is none. */
  newSecret(verify: Verification): string | null {
    if (verify === 'standard') return newStandardSecret();
    const isOurs = verify === 'github' || verify === 'gitlab' || verify === 'hmac';
    return isOurs ? randomBytes(SECRET_BYTES).toString('base64url') : null;
  }

  /** The secrets of a trigger once this one counts; the one before is good for a while. */
  replaced({ id, secrets }: TriggerRow, secret: string, now: Date): KeptSecret[] {
    const sealed = this.seal.close(secret, id).toString('base64');
    const until = new Date(now.getTime() + OVERLAP_MS).toISOString();
    const [before] = kept(secrets).filter(each => each.until === null);
    return [{ sealed, until: null }, ...(before ? [{ sealed: before.sealed, until }] : [])];
  }

  /** Those that are good now. */
  current({ id, secrets }: Pick<TriggerRow, 'id' | 'secrets'>, now: Date): string[] {
    return kept(secrets)
      .filter(({ until }) => until === null || new Date(until) > now)
      .flatMap(({ sealed }) => {
        const opened = this.seal.open(Buffer.from(sealed, 'base64'), id);
        return opened ? [opened.toString()] : [];
      });
  }
}

export const tokenHashOf = (token: string): string => hash('sha256', token, 'hex');

const kept = (secrets: TriggerRow['secrets']) => secrets as readonly KeptSecret[];
