import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Config } from '../config/index.js';
import { Database } from '../database/index.js';

const IV_BYTES = 12;
const TAG_BYTES = 16;

/** An answer as it went out: enough to send it again. */
export interface StoredAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/**
 * Keys for one `Idempotency-Key` of one credential. The key itself is never stored, and what is stored is encrypted and
 * authenticated with what follows from it (HKDF, RFC 5869; AES-256-GCM), so that the database alone, a backup of it
 * included, gives away neither requests nor the secrets in their answers.
 */
export class IdempotencySeal {
  private constructor(
    /** What a row is found by. */
    readonly lookup: Buffer,
    private readonly fingerprintKey: Buffer,
    private readonly answerKey: Buffer,
  ) {}

  static derive(installationKey: string, credentialId: string, key: string): IdempotencySeal {
    const info = `atelier idempotency ${credentialId}`;
    const bytes = Buffer.from(hkdfSync('sha256', key, installationKey, info, 96));
    return new IdempotencySeal(bytes.subarray(0, 32), bytes.subarray(32, 64), bytes.subarray(64));
  }

  /** Tells requests apart; keyed, as bodies hold passwords. */
  fingerprint(method: string, address: string, body: unknown): Buffer {
    return createHmac('sha256', this.fingerprintKey)
      .update(`${method} ${address}\n`)
      .update(JSON.stringify(body) ?? '')
      .digest();
  }

  close({ status, headers, body }: StoredAnswer): Buffer {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.answerKey, iv);
    const head = Buffer.from(`${JSON.stringify({ status, headers })}\n`);
    const sealed = [cipher.update(head), cipher.update(body), cipher.final()];
    return Buffer.concat([iv, ...sealed, cipher.getAuthTag()]);
  }

  /** Throws for bytes that {@link close} did not make with the same keys. */
  open(sealed: Buffer): StoredAnswer {
    const decipher = createDecipheriv('aes-256-gcm', this.answerKey, sealed.subarray(0, IV_BYTES));
    decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
    const inside = sealed.subarray(IV_BYTES, -TAG_BYTES);
    const plain = Buffer.concat([decipher.update(inside), decipher.final()]);
    const end = plain.indexOf('\n');
    return { ...JSON.parse(plain.subarray(0, end).toString()), body: plain.subarray(end + 1) };
  }
}

/** Makes the seals; the installation's key is part of each. */
@Injectable()
export class IdempotencyVault {
  private installationKey: string | undefined;

  constructor(
    private readonly config: Config,
    private readonly database: Database,
  ) {}

  async sealFor(credentialId: string, key: string): Promise<IdempotencySeal> {
    this.installationKey ??= this.config.jwtSecret ?? (await this.readKey());
    return IdempotencySeal.derive(this.installationKey, credentialId, key);
  }

  private async readKey(): Promise<string> {
    const { rows } = await sql<{ token_key: string }>`select token_key from installation`.execute(
      this.database.tables(),
    );
    const [row] = rows;
    if (!row) throw new Error('The installation has no key yet');
    return row.token_key;
  }
}
