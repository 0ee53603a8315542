import { StreamingToolCallTracker } from '@ai-sdk/provider-utils';
import type { ChatToolCall } from './chat-events.js';
import type { Emit } from './part-stream.js';

/** Puts calls of tools together from their pieces. Which piece belongs to which call, the SDK's tracker knows. */
export class ChatToolCalls {
  readonly #tracker: StreamingToolCallTracker<ChatToolCall>;
  /** Calls whose name has not come yet, by index. */
  readonly #nameless = new Map<number, ChatToolCall>();
  readonly #named = new Set<number>();

  constructor(emit: Emit, metadataKey: string) {
    // Arguments are of use when they are whole: the parts that show them on their way are left out.
    const enqueue: Emit = part => {
      if (part.type === 'tool-call') emit(part);
    };
    this.#tracker = new StreamingToolCallTracker<ChatToolCall>(
      { enqueue },
      {
        extractMetadata: ({ extra_content }) => {
          const thoughtSignature = extra_content?.google?.thought_signature;
          return thoughtSignature ? { [metadataKey]: { thoughtSignature } } : undefined;
        },
        buildToolCallProviderMetadata: metadata => metadata,
      },
    );
  }

  read(delta: ChatToolCall): void {
    const { index } = delta;
    if (typeof index !== 'number' || this.#named.has(index)) {
      this.#tracker.processDelta(delta);
      return;
    }
    const call = merge(this.#nameless.get(index), delta);
    if (typeof call.function?.name !== 'string') {
      this.#nameless.set(index, call);
      return;
    }
    this.#nameless.delete(index);
    this.#named.add(index);
    this.#tracker.processDelta(call);
  }

  /** Emits the calls. Throws where one never got a name. */
  end(): void {
    for (const call of this.#nameless.values()) this.#tracker.processDelta(call);
    this.#nameless.clear();
    this.#tracker.flush();
  }
}

function merge(before: ChatToolCall | undefined, delta: ChatToolCall): ChatToolCall {
  return {
    index: delta.index,
    id: before?.id ?? delta.id,
    function: {
      name: delta.function?.name,
      arguments: (before?.function?.arguments ?? '') + (delta.function?.arguments ?? ''),
    },
    extra_content: before?.extra_content ?? delta.extra_content,
  };
}
