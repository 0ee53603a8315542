import type {
  LanguageModelV4CustomPart,
  LanguageModelV4ReasoningPart,
  LanguageModelV4StreamPart,
  LanguageModelV4TextPart,
  LanguageModelV4ToolCall,
  LanguageModelV4ToolCallPart,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata,
} from '@ai-sdk/provider';
import type { StepUsage } from './cost.js';
import type { AnswerPart } from './model-stream.js';
import { type RequestedTool, readToolCall } from './tool-arguments.js';

/** A part of an assistant message, with what its provider wants to get back in `providerOptions`. */
export type StepContentPart =
  | LanguageModelV4TextPart
  | LanguageModelV4ReasoningPart
  | LanguageModelV4ToolCallPart
  | LanguageModelV4CustomPart;

export type StepFinishReason = 'stop' | 'tool-calls' | 'length' | 'content-filter' | 'error' | 'other';

export interface StepDelta {
  type: 'text' | 'reasoning';
  text: string;
}

export interface StepResult {
  /** JSON throughout; append it to the prompt as `{ role: 'assistant', content }`. */
  content: StepContentPart[];
  tool_calls: RequestedTool[];
  text: string;
  finish_reason: StepFinishReason;
  usage: StepUsage;
  /** The model as the provider names it; null where it does not say. */
  model_used: string | null;
}

type FinishPart = Extract<LanguageModelV4StreamPart, { type: 'finish' }>;

/** Puts the parts of one answer together, in the order in which they began. */
export class StepAssembler {
  readonly #content: StepContentPart[] = [];
  readonly #open = new Map<string, LanguageModelV4TextPart | LanguageModelV4ReasoningPart>();
  readonly #toolCalls: RequestedTool[] = [];
  #modelUsed: string | null = null;
  #finish: FinishPart | undefined;

  /** Takes the next part; returns what a reader sees of it. */
  add(part: AnswerPart): StepDelta | undefined {
    switch (part.type) {
      case 'text-start':
      case 'reasoning-start':
      case 'text-end':
      case 'reasoning-end':
        this.#block(part);
        return undefined;
      case 'text-delta':
      case 'reasoning-delta':
        return this.#delta(part);
      case 'tool-call':
        this.#call(part);
        return undefined;
      case 'custom':
        // Transport news of Anthropic's; every other custom part has its place in the conversation.
        if (part.kind !== 'anthropic.message_start') {
          this.#content.push({ type: 'custom', kind: part.kind, ...options(part.providerMetadata) });
        }
        return undefined;
      case 'response-metadata':
        this.#modelUsed = part.modelId ?? this.#modelUsed;
        return undefined;
      case 'finish':
        this.#finish = part;
        return undefined;
      default:
        return undefined;
    }
  }

  result(): StepResult {
    const content = this.#content.filter(part => !isEmpty(part));
    return {
      content,
      tool_calls: this.#toolCalls,
      text: content.map(part => (part.type === 'text' ? part.text : '')).join(''),
      finish_reason: this.#finishReason(),
      usage: readUsage(this.#finish?.usage),
      model_used: this.#modelUsed,
    };
  }

  #block(part: { type: string; id: string; providerMetadata?: SharedV4ProviderMetadata }) {
    const [type, edge] = part.type.split('-');
    const key = `${type}:${part.id}`;
    if (edge === 'start') this.#open.delete(key);
    const block = this.#open.get(key) ?? this.#begin(key, type === 'text' ? 'text' : 'reasoning');
    block.providerOptions = merge(block.providerOptions, part.providerMetadata);
    if (block.providerOptions === undefined) delete block.providerOptions;
    if (edge === 'end') this.#open.delete(key);
    return block;
  }

  #begin(key: string, type: 'text' | 'reasoning') {
    const block = { type, text: '' };
    this.#content.push(block);
    this.#open.set(key, block);
    return block as LanguageModelV4TextPart | LanguageModelV4ReasoningPart;
  }

  #delta(part: Extract<AnswerPart, { type: 'text-delta' | 'reasoning-delta' }>): StepDelta | undefined {
    this.#block(part).text += part.delta;
    if (part.delta === '') return undefined;
    return { type: part.type === 'text-delta' ? 'text' : 'reasoning', text: part.delta };
  }

  #call(part: LanguageModelV4ToolCall): void {
    if (part.providerExecuted) return;
    const call = readToolCall(part);
    this.#toolCalls.push(call);
    this.#content.push({
      type: 'tool-call',
      toolCallId: call.id,
      toolName: call.tool,
      // Some providers refuse a conversation whose arguments are no object; the tool's answer tells the model.
      input: call.invalid === undefined ? call.input : {},
      ...options(part.providerMetadata),
    });
  }

  /** Some servers say `stop` although they call tools, or the reverse. */
  #finishReason(): StepFinishReason {
    const reason = this.#finish?.finishReason.unified ?? 'other';
    if (this.#toolCalls.length > 0)
      return reason === 'stop' || reason === 'other' ? 'tool-calls' : known(reason);
    return reason === 'tool-calls' ? 'other' : known(reason);
  }
}

function known(reason: FinishPart['finishReason']['unified']): StepFinishReason {
  return reason === 'interrupted' ? 'other' : reason;
}

/** Providers refuse empty blocks, except those that carry a signature or an id. */
function isEmpty(part: StepContentPart): boolean {
  return (part.type === 'text' || part.type === 'reasoning') && part.text === '' && !part.providerOptions;
}

function options(metadata: SharedV4ProviderMetadata | undefined) {
  return metadata === undefined ? {} : { providerOptions: metadata };
}

/** Later metadata wins key by key: a signature may come before, with or after the end of its block. */
function merge(
  before: SharedV4ProviderMetadata | undefined,
  after: SharedV4ProviderMetadata | undefined,
): SharedV4ProviderMetadata | undefined {
  if (!before || !after) return after ?? before;
  const merged = { ...before };
  for (const [provider, values] of Object.entries(after)) {
    merged[provider] = { ...merged[provider], ...values };
  }
  return merged;
}

function readUsage(usage: LanguageModelV4Usage | undefined): StepUsage {
  return {
    input_tokens: counted(usage?.inputTokens.total),
    output_tokens: counted(usage?.outputTokens.total),
    cache_read_tokens: counted(usage?.inputTokens.cacheRead),
    cache_write_tokens: counted(usage?.inputTokens.cacheWrite),
    reasoning_tokens: counted(usage?.outputTokens.reasoning),
  };
}

/** Null for what is no count of tokens: a provider may say anything. */
const counted = (tokens: number | undefined): number | null =>
  tokens !== undefined && Number.isSafeInteger(tokens) && tokens >= 0 ? tokens : null;
