import {
  InvalidResponseDataError,
  type JSONObject,
  type LanguageModelV4FinishReason,
  type SharedV4ProviderMetadata,
} from '@ai-sdk/provider';
import { type AnthropicOpenBlock, openBlock, toolCall } from './anthropic-blocks.js';
import { streamError } from './anthropic-error.js';
import type { AnthropicDelta, AnthropicEvent, AnthropicMessage, AnthropicUsage } from './anthropic-events.js';
import { anthropicUsage } from './anthropic-usage.js';
import type { Emit, EventReader } from './part-stream.js';

/** Reads the events of Anthropic's messages as the SDK does, and steps over what it does not know. */
export class AnthropicReader implements EventReader {
  readonly #blocks = new Map<number, AnthropicOpenBlock>();
  /** The message that is being read. */
  #message: { id: unknown } | undefined;
  #stopReason: string | undefined;
  #usage: AnthropicUsage = {};

  constructor(private readonly emit: Emit) {}

  read(value: unknown): void {
    if (typeof value !== 'object' || value === null) return;
    const event = value as AnthropicEvent;
    const { index = 0 } = event;
    switch (event.type) {
      case 'message_start':
        if (event.message) this.#start(event.message);
        return;
      case 'content_block_start':
        if (event.content_block) this.#open(index, event.content_block);
        return;
      case 'content_block_delta':
        if (event.delta) this.#delta(index, event.delta);
        return;
      case 'content_block_stop':
        this.#close(index);
        return;
      case 'message_delta':
        this.#stopReason = event.delta?.stop_reason ?? undefined;
        // Later events overrule what the first one counted, field by field.
        this.#usage = { ...this.#usage, ...counted(event.usage) };
        return;
      case 'message_stop':
        this.#finish();
        return;
      case 'error':
        this.emit({ type: 'error', error: streamError(event.error) });
    }
  }

  /** The answer's end is an event of its own: without it, there is none. */
  end(): void {}

  #start(message: AnthropicMessage): void {
    const { id, model, usage, stop_reason, content } = message;
    if (this.#message) {
      if (this.#message.id === id) return;
      throw new InvalidResponseDataError({
        data: { id },
        message: 'A message began before another one ended.',
      });
    }
    this.#message = { id };
    // It counts the first token of the output as well, which the end counts again.
    this.#usage = { ...counted(usage), output_tokens: undefined };
    if (stop_reason) this.#stopReason = stop_reason;
    this.emit({ type: 'response-metadata', id: id ?? undefined, modelId: model ?? undefined });
    for (const block of content ?? []) {
      if (block.type === 'tool_use') this.emit(toolCall(block, JSON.stringify(block.input ?? {})));
    }
  }

  #open(index: number, start: NonNullable<AnthropicEvent['content_block']>): void {
    if (start.type === 'fallback') {
      const anthropic = { type: 'fallback', from: start.from, to: start.to } as JSONObject;
      this.emit({ type: 'custom', kind: 'anthropic.fallback', providerMetadata: { anthropic } });
      return;
    }
    const block = openBlock(start);
    if (!block) return;
    this.#blocks.set(index, block);
    if (block.type === 'tool') return;
    const { providerMetadata } = block;
    this.emit({
      type: `${block.type}-start`,
      id: String(index),
      ...(providerMetadata && { providerMetadata }),
    });
    if (block.content) this.#say(index, block.type, block.content);
  }

  #delta(index: number, delta: AnthropicDelta): void {
    const block = this.#blocks.get(index);
    if (!block) return;
    if (block.type === 'tool') {
      if (delta.type === 'input_json_delta') block.input += delta.partial_json ?? '';
      return;
    }
    switch (delta.type) {
      case 'text_delta':
        this.#say(index, 'text', delta.text);
        return;
      case 'compaction_delta':
        this.#say(index, 'text', delta.content);
        return;
      case 'thinking_delta':
        this.#say(index, 'reasoning', delta.thinking);
        return;
      case 'signature_delta':
        if (block.kind === 'thinking')
          this.#say(index, 'reasoning', '', { signature: delta.signature ?? '' });
        return;
      case 'citations_delta':
        block.citations.push(delta.citation as JSONObject);
    }
  }

  #say(
    index: number,
    type: 'text' | 'reasoning',
    delta: string | null | undefined,
    anthropic?: JSONObject,
  ): void {
    if (typeof delta !== 'string') return;
    const metadata: { providerMetadata?: SharedV4ProviderMetadata } = anthropic
      ? { providerMetadata: { anthropic } }
      : {};
    this.emit({ type: `${type}-delta`, id: String(index), delta, ...metadata });
  }

  #close(index: number): void {
    const block = this.#blocks.get(index);
    if (!block) return;
    this.#blocks.delete(index);
    if (block.type === 'tool') {
      this.emit(toolCall(block.start, block.input || '{}'));
      return;
    }
    const { citations } = block;
    const metadata = citations.length > 0 ? { providerMetadata: { anthropic: { citations } } } : {};
    this.emit({ type: `${block.type}-end`, id: String(index), ...metadata });
  }

  #finish(): void {
    this.#message = undefined;
    this.emit({
      type: 'finish',
      finishReason: { unified: unified(this.#stopReason), raw: this.#stopReason },
      usage: anthropicUsage(this.#usage),
    });
  }
}

function counted(usage: AnthropicUsage | undefined): AnthropicUsage {
  return Object.fromEntries(Object.entries(usage ?? {}).filter(([, value]) => value != null));
}

function unified(reason: string | undefined): LanguageModelV4FinishReason['unified'] {
  switch (reason) {
    case 'pause_turn':
    case 'end_turn':
    case 'stop_sequence':
      return 'stop';
    case 'refusal':
      return 'content-filter';
    case 'tool_use':
      return 'tool-calls';
    case 'max_tokens':
    case 'model_context_window_exceeded':
      return 'length';
    default:
      return 'other';
  }
}
