/** A token is about four bytes of English and three of code; rather too many tokens than too few. */
const TOKENS_A_BYTE = 1 / 3;
/** Left free for the answer: this much, or a quarter of a small window. */
const OUTPUT_TOKENS = 32_000;
/** Counts are estimates, and the answer of one step may be long: we do not wait until the last token. */
const FILLED = 0.9;
/** How much of the room the newest messages keep when the older ones are summarized. */
const KEPT = 0.25;
/** From here on an estimate alone may be too far off. */
const NEARLY = 0.6;

/** How full a model's window is, by what the provider counted in this attempt and the bytes since. */
export class ContextWindow {
  private tokensAByte = TOKENS_A_BYTE;
  private hasLearned = false;

  /** `size` is the model's window in tokens. */
  constructor(private readonly size: number) {}

  /** Learns from what a provider counted for so many bytes. */
  learn(inputTokens: number | null, bytes: number): void {
    if (!inputTokens || bytes <= 0) return;
    this.tokensAByte = Math.min(1, Math.max(1 / 5, inputTokens / bytes));
    this.hasLearned = true;
  }

  tokens(bytes: number): number {
    return Math.ceil(bytes * this.tokensAByte);
  }

  /** Most tokens that a prompt should have. */
  get room(): number {
    return Math.floor((this.size - Math.min(OUTPUT_TOKENS, this.size / 4)) * FILLED);
  }

  /** Whether it is worth asking the provider how much that is: no count is known, and it may not fit. */
  isUnsureOf(bytes: number): boolean {
    return !this.hasLearned && this.tokens(bytes) > this.room * NEARLY;
  }

  isFullWith(bytes: number): boolean {
    return this.tokens(bytes) > this.room;
  }

  /** Bytes of newest messages to keep, of a prompt that turned out to be too long. */
  keptBytes(promptBytes: number): number {
    return Math.floor(Math.min(this.roomInBytes, promptBytes) * KEPT);
  }

  /** Bytes of older messages that a summarizer can be shown at once. */
  shownBytes(promptBytes: number): number {
    return Math.floor(Math.min(this.roomInBytes * 0.8, promptBytes * 0.7));
  }

  private get roomInBytes(): number {
    return this.room / this.tokensAByte;
  }
}
