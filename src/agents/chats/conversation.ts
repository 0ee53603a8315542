import type { LanguageModelV4FunctionTool, LanguageModelV4Prompt } from '@ai-sdk/provider';
import { storableText } from '#libs/fields/index.js';
import type { MessagePart, MessagesStore, Said, SaidCall } from './messages.store.js';

/** The run for which it is read. */
interface ReadingRun {
  readonly id: string;
  readonly chat_id: string;
  readonly number: string;
}

/** An answer that was written down, as the database has it now. */
interface WrittenAnswer {
  readonly step: number;
  readonly model: string;
  readonly content: MessagePart[];
  readonly calls: readonly { readonly callId: string; readonly tool: string }[];
}

/**
 * What was said in a chat up to a run, as its model is given it. It is read once in an attempt: what the attempt itself
 * adds is added here when it is written down, and nothing else adds to it, but messages that are merged into the run.
 */
export class Conversation {
  private known: Said[] | undefined;

  /** `first`: the content of the only message so far, where that is known. */
  constructor(
    private readonly messages: MessagesStore,
    private readonly run: ReadingRun,
    first: MessagePart[] | null = null,
  ) {
    if (first)
      this.known = [{ role: 'user', run_id: run.id, step: null, model: null, content: first, calls: [] }];
  }

  async read(): Promise<readonly Said[]> {
    this.known ??= await this.messages.conversation(this.run.chat_id, this.run.number);
    return this.known;
  }

  answered({ step, model, content, calls }: WrittenAnswer): void {
    const asked = calls.map(({ callId, tool }): SaidCall => {
      return {
        call_id: storableText(callId),
        tool: storableText(tool),
        output: null,
        is_error: false,
        state: 'started',
      };
    });
    this.known?.push({ role: 'assistant', run_id: this.run.id, step, model, content, calls: asked });
  }

  /** Of calls that an earlier attempt asked for nothing is known here: they are read with the rest. */
  finished({ step, position }: { step: number; position: number }, output: string, is_error: boolean): void {
    const answer = this.known?.findLast(said => said.step === step && said.run_id === this.run.id);
    const call = answer?.calls[position];
    if (!answer || !call) this.forget();
    else answer.calls[position] = { ...call, output: storableText(output), is_error, state: 'finished' };
  }

  /** It is read anew the next time. */
  forget(): void {
    this.known = undefined;
  }
}

/** What a model is asked with. */
export interface ModelInput {
  readonly prompt: LanguageModelV4Prompt;
  readonly tools: LanguageModelV4FunctionTool[];
}

/** A token is about four bytes of English and three of code; rather too many tokens than too few. */
const TOKENS_A_BYTE = 1 / 3;
/** Left free for the answer: this much, or a quarter of a small window. */
const OUTPUT_TOKENS = 32_000;
/** Counts are estimates, and the answer of one step may be long: we do not wait until the last token. */
const FILLED = 0.9;
/** How much of the room the newest messages keep when the older ones are summarized. */
const KEPT = 0.25;

/** How full a model's window is, by what the provider counted in this attempt and the bytes since. */
export class ContextWindow {
  private tokensAByte = TOKENS_A_BYTE;

  /** `size` is the model's window in tokens; null: not known, and then nothing is too much. */
  constructor(private readonly size: number | null) {}

  /** Learns from what a provider counted for so many bytes. */
  learn(inputTokens: number | null, bytes: number): void {
    if (inputTokens && bytes > 0) this.tokensAByte = Math.min(1, Math.max(1 / 5, inputTokens / bytes));
  }

  tokens(bytes: number): number {
    return Math.ceil(bytes * this.tokensAByte);
  }

  /** Most tokens that a prompt should have; null where the window is not known. */
  get room(): number | null {
    if (this.size === null) return null;
    return Math.floor((this.size - Math.min(OUTPUT_TOKENS, this.size / 4)) * FILLED);
  }

  isFullWith(bytes: number): boolean {
    return this.room !== null && this.tokens(bytes) > this.room;
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
    return this.room === null ? Number.POSITIVE_INFINITY : this.room / this.tokensAByte;
  }
}
