import type { JSONObject, LanguageModelV4ToolCall, SharedV4ProviderMetadata } from '@ai-sdk/provider';
import type { AnthropicBlock } from './anthropic-events.js';

/** A block of an answer that has begun and not ended. */
export type AnthropicOpenBlock =
  | { type: 'tool'; start: AnthropicBlock; input: string }
  | {
      type: 'text' | 'reasoning';
      kind: 'text' | 'compaction' | 'thinking' | 'redacted_thinking';
      providerMetadata?: SharedV4ProviderMetadata;
      /** What the block begins with. */
      content?: string;
      citations: JSONObject[];
    };

/** What begins with this block; undefined where it is of no use to a conversation. */
export function openBlock(start: AnthropicBlock): AnthropicOpenBlock | undefined {
  switch (start.type) {
    case 'text':
      return { type: 'text', kind: 'text', citations: [] };
    case 'thinking':
      return { type: 'reasoning', kind: 'thinking', citations: [] };
    case 'redacted_thinking':
      return {
        type: 'reasoning',
        kind: 'redacted_thinking',
        providerMetadata: { anthropic: { redactedData: start.data ?? '' } },
        citations: [],
      };
    case 'compaction':
      return openCompaction(start);
    case 'tool_use':
      // Empty here, and in the deltas that follow; whole here where another tool of Anthropic's makes the call.
      return { type: 'tool', start, input: hasKeys(start.input) ? JSON.stringify(start.input) : '' };
    default:
      return undefined;
  }
}

function openCompaction({ signature, content }: AnthropicBlock): AnthropicOpenBlock {
  const signed = signature == null ? {} : { signature };
  return {
    type: 'text',
    kind: 'compaction',
    providerMetadata: { anthropic: { type: 'compaction', ...signed } },
    // A signed one comes in one piece.
    content: signature == null ? undefined : (content ?? undefined),
    citations: [],
  };
}

export function toolCall({ id, name, caller }: AnthropicBlock, input: string): LanguageModelV4ToolCall {
  const metadata = caller ? { providerMetadata: { anthropic: { caller: callerOf(caller) } } } : {};
  return { type: 'tool-call', toolCallId: id ?? '', toolName: name ?? '', input, ...metadata };
}

function callerOf({ type, tool_id }: { type: string; tool_id?: string }): JSONObject {
  return tool_id === undefined ? { type } : { type, toolId: tool_id };
}

function hasKeys(input: unknown): boolean {
  return typeof input === 'object' && input !== null && Object.keys(input).length > 0;
}
