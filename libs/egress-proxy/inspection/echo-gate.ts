import type { SecretForms } from './secret-forms.js';

/** How much of a body that is no text is read, and how much of a text is held until it was read. */
const READ_BYTES = 1024 * 1024;
/** How long a text of unknown length is held. */
const HOLD_MS = 100;
const TEXT =
  /^(?:text\/|application\/(?:[\w.+-]*\+)?(?:json|xml|javascript|x-www-form-urlencoded|yaml|toml)\b)/i;
/** Texts that are read as they come. */
const STREAM = /^(?:text\/event-stream|application\/(?:x-)?(?:ndjson|json-seq|stream\+json))\b/i;

export class SecretEchoed extends Error {
  constructor() {
    super('the server sent the credential back');
  }
}

export class AnswerEncoded extends Error {
  constructor(encoding: string) {
    super(
      `the server encoded its answer (Content-Encoding: ${encoding.slice(0, 40)}) though it was asked not to, so that it cannot be checked`,
    );
  }
}

/** What all answers of a sandbox may hold back together. */
export class HeldBytes {
  constructor(private left: number) {}

  take(bytes: number): boolean {
    if (bytes > this.left) return false;
    this.left -= bytes;
    return true;
  }

  release(bytes: number): void {
    this.left += bytes;
  }
}

interface Head {
  readonly status: number;
  readonly reason: string;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  readonly body: number | 'chunked' | 'close';
}

/**
 * Reads an answer on its way, and throws SecretEchoed where it holds the credential of its request: all headers, whole texts, and the
 * first MiB of other bodies. Encoded bodies are refused with AnswerEncoded. A text of up to a MiB is held until it was read whole (of unknown length: for a moment), so that an
 * error can take its place; of all else, only bytes that may be the beginning of a secret are held.
 */
export class EchoGate {
  private tail: Buffer = Buffer.alloc(0);
  private read = 0;
  private held: Buffer[] = [];
  private heldBytes = 0;
  private isHolding = false;
  private isLengthKnown = false;
  private isText = false;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly forms: SecretForms,
    private readonly budget: HeldBytes,
    private readonly send: (chunk: Buffer) => void,
  ) {}

  /** Whether the head may go on before the body. */
  head({ reason, headers, body }: Head): boolean {
    this.require(Buffer.from([reason, ...headers].join('\n'), 'latin1'));
    const [named] = valuesOf(headers, 'content-type');
    const type = named ?? 'text/plain';
    const encoding = valuesOf(headers, 'content-encoding').join(', ');
    if (body !== 0 && !/^(?:[\s,]|identity)*$/i.test(encoding)) throw new AnswerEncoded(encoding);
    this.isText = named !== undefined && (TEXT.test(type) || STREAM.test(type));
    this.isLengthKnown = typeof body === 'number';
    const isShort = typeof body === 'string' || body <= READ_BYTES;
    this.isHolding = body !== 0 && isShort && TEXT.test(type) && !STREAM.test(type);
    return !this.isHolding;
  }

  body(chunk: Buffer): void {
    if (this.read >= READ_BYTES && !this.isText) {
      this.flush();
      this.send(chunk);
      return;
    }
    this.read += chunk.length;
    const bytes = this.tail.length > 0 ? Buffer.concat([this.tail, chunk]) : chunk;
    this.require(bytes);
    const begun = this.forms.begunAt(bytes);
    this.tail = begun > 0 ? Buffer.from(bytes.subarray(bytes.length - begun)) : EMPTY;
    this.pass(bytes.subarray(0, bytes.length - begun));
  }

  end(trailers: readonly string[]): void {
    this.require(Buffer.from(trailers.join('\n'), 'latin1'));
    this.flush();
    this.stop();
  }

  /** Nothing more comes. */
  stop(): void {
    clearTimeout(this.timer);
    this.budget.release(this.heldBytes);
    this.held = [];
    this.heldBytes = 0;
    this.isHolding = false;
  }

  private pass(bytes: Buffer): void {
    if (bytes.length === 0) return;
    const mayHold = this.isHolding && this.read < READ_BYTES && this.budget.take(bytes.length);
    if (!mayHold) {
      this.letGo();
      this.send(bytes);
      return;
    }
    this.held.push(bytes);
    this.heldBytes += bytes.length;
    if (!this.isLengthKnown) this.timer ??= setTimeout(() => this.letGo(), HOLD_MS).unref();
  }

  private letGo(): void {
    const { held } = this;
    this.stop();
    for (const chunk of held) this.send(chunk);
  }

  private flush(): void {
    this.letGo();
    if (this.tail.length > 0) this.send(this.tail);
    this.tail = EMPTY;
  }

  private require(bytes: Buffer): void {
    if (this.forms.isIn(bytes)) throw new SecretEchoed();
  }
}

const valuesOf = (headers: readonly string[], name: string): string[] =>
  headers.filter((_value, at) => at % 2 === 1 && headers[at - 1]?.toLowerCase() === name);

const EMPTY = Buffer.alloc(0);
