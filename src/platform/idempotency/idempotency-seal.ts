import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { decrypt, encrypt, type RootKey, type RootKeys } from '../vault/index.js';

/** An answer as it went out: enough to send it again. */
export interface StoredAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/**
 * Keys for one `Idempotency-Key` of one credential. The key itself is never stored, and what is stored is encrypted and
 * authenticated with what follows from it and from the vault's root keys (HKDF, RFC 5869; AES-256-GCM). So the database
 * alone, a backup of it included, gives away neither requests nor the secrets in their answers.
 */
export class IdempotencySeal {
  /** What a row is found by. It and the fingerprint follow from the oldest root key, as they must outlive a rotation. */
  readonly lookup: Buffer;
  private readonly fingerprintKey: Buffer;

  constructor(
    private readonly roots: Pick<RootKeys, 'oldest' | 'current' | 'split'>,
    private readonly credentialId: string,
    private readonly key: string,
  ) {
    const bytes = this.bytes(roots.oldest);
    this.lookup = bytes.subarray(0, 32);
    this.fingerprintKey = bytes.subarray(32, 64);
  }

  /** Distinguishes requests; keyed, as bodies hold passwords. */
  fingerprint(method: string, address: string, body: unknown): Buffer {
    return createHmac('sha256', this.fingerprintKey)
      .update(`${method} ${address}\n`)
      .update(JSON.stringify(body) ?? '')
      .digest();
  }

  close({ status, headers, body }: StoredAnswer): Buffer {
    const { current } = this.roots;
    const head = Buffer.from(`${JSON.stringify({ status, headers })}\n`);
    const sealed = encrypt(this.answerKey(current), Buffer.concat([head, body]), '');
    return Buffer.concat([current.header, sealed]);
  }

  /** Throws for bytes that {@link close} did not make with the same keys. */
  open(sealed: Buffer): StoredAnswer {
    const [root, rest] = this.roots.split(sealed);
    const plain = root && decrypt(this.answerKey(root), rest, '');
    if (!plain) throw new Error('This answer was sealed with other keys');
    const end = plain.indexOf('\n');
    return { ...JSON.parse(plain.subarray(0, end).toString()), body: plain.subarray(end + 1) };
  }

  private answerKey(root: RootKey): KeyObject {
    return createSecretKey(this.bytes(root).subarray(64));
  }

  private bytes(root: RootKey): Buffer {
    return root.mix(this.key, `idempotency ${this.credentialId}`, 96);
  }
}
