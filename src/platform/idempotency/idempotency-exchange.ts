import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { sql } from 'kysely';
import { decrypt, encrypt } from '#libs/envelope/index.js';
import type { KeyedRequest, UnitOfWork } from '../database/index.js';
import type { RootKey, RootKeys } from '../vault/index.js';

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

export const KEPT_HOURS = 24;
export const MAX_ANSWER_BYTES = 1024 * 1024;
export const LOST_DETAIL =
  'A repetition of this request is being carried out; send it again to get its answer';
export const LOST_HEADERS = { 'retry-after': '1' };

/** How a route with an `Idempotency-Key` stands to the database. */
export interface Outcome {
  /** Its answer is committed with its work. */
  readonly commitsAnswer: boolean;
  /** How to see whether it was done: "read the path or its history". */
  readonly evidence: string;
}

/** A request that entered with a key: either it runs and we hold its row, or it gets an answer again. */
export class Exchange implements KeyedRequest {
  /** Whether the row's fate is decided, or there is none. */
  settled: boolean;
  streamed = false;
  private kept: StoredAnswer | undefined;
  private isCommitted = false;

  constructor(
    readonly seal: IdempotencySeal,
    readonly outcome: Outcome,
    readonly holder: string | undefined,
    readonly replay: StoredAnswer | undefined,
    private readonly answerOf: (body: Buffer) => StoredAnswer,
  ) {
    this.settled = holder === undefined;
  }

  get isOpen(): boolean {
    return !this.settled && !this.isCommitted;
  }

  /** The answer that was committed with the work. */
  get committedAnswer(): StoredAnswer | undefined {
    return this.isCommitted ? this.kept : undefined;
  }

  keep(unit: Pick<UnitOfWork, 'tables'>, view: unknown): Promise<boolean> {
    const body = Buffer.from(JSON.stringify(view) ?? '');
    this.kept =
      body.length <= MAX_ANSWER_BYTES ? this.answerOf(body) : this.withoutAnswer('too large to keep');
    return keepAnswer(unit, this.holder, this.seal.close(this.kept));
  }

  committed(): void {
    this.isCommitted = true;
  }

  /** What a repetition gets where the answer cannot be given again. */
  withoutAnswer(why: string): StoredAnswer {
    return problem(
      `The first request with this Idempotency-Key was carried out, but its answer was ${why}; ${this.outcome.evidence}`,
    );
  }

  /**
   * What the request gets instead of a refusal, where a repetition has taken it over meanwhile: it may be refused for what
   * the repetition did, or was not let do anything.
   */
  lost(refusal: StoredAnswer | undefined): StoredAnswer | undefined {
    if (!this.outcome.commitsAnswer || !refusal || refusal.status < 400) return undefined;
    return problem(LOST_DETAIL, LOST_HEADERS);
  }

  /** What a repetition gets where the request failed outside a transaction. */
  failedMidway(): StoredAnswer {
    return problem(unknownOutcome('failed on its way', this.outcome));
  }
}

/** Keeps an answer for a request that is held, and has none yet; false where it is not held. */
export async function keepAnswer(
  unit: Pick<UnitOfWork, 'tables'>,
  holder: string | undefined,
  sealed: Buffer,
): Promise<boolean> {
  const { rows } = await sql`
    update idempotent_request set answer = ${sealed}, expires_at = now() + make_interval(hours => ${KEPT_HOURS})
    where holder = ${holder}::uuid and answer is null returning 1 as kept`.execute(unit.tables());
  return rows.length > 0;
}

export function unknownOutcome(what: string, { evidence }: Outcome): string {
  return `The first request with this Idempotency-Key ${what}, and whether it was carried out is not known; ${evidence}, then send a new key to do it again`;
}

function problem(detail: string, more: Record<string, string> = {}): StoredAnswer {
  const headers = { 'content-type': 'application/json; charset=utf-8', ...more };
  return { status: 409, headers, body: Buffer.from(JSON.stringify({ detail })) };
}
