import { InvalidResponseDataError, type LanguageModelV4FinishReason } from '@ai-sdk/provider';
import type { ChatDelta, ChatEvent, ChatUsage } from './chat-events.js';
import { ChatToolCalls } from './chat-tool-calls.js';
import { chatUsage } from './chat-usage.js';
import type { Emit, EventReader } from './part-stream.js';

type Block = 'text' | 'reasoning';
const IDS: Record<Block, string> = { text: 'txt-0', reasoning: 'reasoning-0' };

/** Reads the events of OpenAI's chat completions as the SDK does, and steps over what it does not know. */
export class ChatReader implements EventReader {
  readonly #calls: ChatToolCalls;
  #open: Block | undefined;
  #metadataSent = false;
  #finish: string | undefined;
  #refused = false;
  #usage: ChatUsage | undefined;

  constructor(
    private readonly emit: Emit,
    metadataKey: string,
  ) {
    this.#calls = new ChatToolCalls(emit, metadataKey);
  }

  read(value: unknown): void {
    if (typeof value !== 'object' || value === null) return;
    const event = value as ChatEvent;
    if (event.error !== undefined && event.error !== null) {
      this.emit({ type: 'error', error: event.error });
      return;
    }
    if (!this.#metadataSent) this.#metadata(event);
    this.#usage = event.usage ?? this.#usage;
    const choice = event.choices?.[0];
    this.#finish = choice?.finish_reason ?? this.#finish;
    if (choice?.delta) this.#delta(choice.delta);
  }

  end(): void {
    this.#close();
    this.#calls.end();
    if (this.#finish === undefined) {
      const message = 'Response stream ended without a finish reason.';
      this.emit({ type: 'error', error: new InvalidResponseDataError({ data: undefined, message }) });
    }
    this.emit({
      type: 'finish',
      finishReason: { unified: unified(this.#finish, this.#refused), raw: this.#finish },
      usage: chatUsage(this.#usage),
    });
  }

  /** Some servers send an event without it first. */
  #metadata({ id, model, created }: ChatEvent): void {
    if (!id && !model && !created) return;
    this.#metadataSent = true;
    this.emit({
      type: 'response-metadata',
      id: id ?? undefined,
      modelId: model ?? undefined,
      timestamp: created ? new Date(created * 1000) : undefined,
    });
  }

  #delta(delta: ChatDelta): void {
    this.#say('reasoning', delta.reasoning_content ?? delta.reasoning);
    this.#content(delta.content);
    if (typeof delta.refusal === 'string' && delta.refusal !== '') {
      this.#refused = true;
      this.#say('text', delta.refusal);
    }
    if (!delta.tool_calls?.length) return;
    if (this.#open === 'reasoning') this.#close();
    for (const call of delta.tool_calls) this.#calls.read(call);
  }

  /** A string, or (Mistral) a list of what was said and thought. */
  #content(content: unknown): void {
    if (!Array.isArray(content)) {
      this.#say('text', content);
      return;
    }
    for (const part of content) {
      if (part?.type === 'text') this.#say('text', part.text);
      if (part?.type === 'thinking' && Array.isArray(part.thinking)) {
        const texts = part.thinking.map((one: { type?: unknown; text?: unknown } | null) =>
          one?.type === 'text' && typeof one.text === 'string' ? one.text : '',
        );
        this.#say('reasoning', texts.join(''));
      }
    }
  }

  #say(type: Block, delta: unknown): void {
    if (typeof delta !== 'string' || delta === '') return;
    if (this.#open !== type) {
      this.#close();
      this.#open = type;
      this.emit({ type: `${type}-start`, id: IDS[type] });
    }
    this.emit({ type: `${type}-delta`, id: IDS[type], delta });
  }

  #close(): void {
    if (this.#open) this.emit({ type: `${this.#open}-end`, id: IDS[this.#open] });
    this.#open = undefined;
  }
}

function unified(reason: string | undefined, refused: boolean): LanguageModelV4FinishReason['unified'] {
  switch (reason) {
    case undefined:
      return 'error';
    case 'stop':
      // OpenAI says so of refusals, too.
      return refused ? 'content-filter' : 'stop';
    case 'length':
      return 'length';
    case 'content_filter':
      return 'content-filter';
    case 'function_call':
    case 'tool_calls':
      return 'tool-calls';
    default:
      return 'other';
  }
}
