import type { FakeRequest } from './scripted-server.js';

/** What a model was given, whatever the protocol: one entry for each thing said, called or given back, in order. */
export interface Said {
  kind: 'user' | 'text' | 'thinking' | 'call' | 'result';
  /** The text; of a call, the tool. */
  text: string;
  /** Links a call and its result, where the protocol does so by ids. */
  id?: string;
  input?: unknown;
  signature?: string;
}

type Wire = Record<string, unknown>;
const list = (value: unknown): Wire[] => (Array.isArray(value) ? value : []);
const text = (value: unknown): string =>
  typeof value === 'string'
    ? value
    : list(value)
        .map(part => String(part.text ?? part.type))
        .join('');

/** OpenAI's chat completions. */
export function chatConversation({ body }: FakeRequest): Said[] {
  return list(body.messages).flatMap(
    ({ role, content, tool_calls, tool_call_id, reasoning_content }): Said[] => {
      if (role === 'user') return [{ kind: 'user', text: text(content) }];
      if (role === 'tool') return [{ kind: 'result', text: text(content), id: String(tool_call_id) }];
      if (role !== 'assistant') return [];
      const calls = list(tool_calls).map(({ id, function: called }): Said => {
        const { name, arguments: input } = called as Record<string, string>;
        return { kind: 'call', text: name ?? '', id: String(id), input: JSON.parse(input ?? '') };
      });
      return [...said('thinking', reasoning_content), ...said('text', content), ...calls];
    },
  );
}

/** OpenAI's responses. */
export function responsesConversation({ body }: FakeRequest): Said[] {
  return list(body.input).flatMap((item): Said[] => {
    switch (item.type ?? item.role) {
      case 'user':
        return [{ kind: 'user', text: text(item.content) }];
      case 'assistant':
      case 'message':
        return item.role === 'assistant' ? said('text', text(item.content)) : [];
      case 'reasoning':
        return [{ kind: 'thinking', text: text(item.summary), signature: String(item.encrypted_content) }];
      case 'function_call':
        return [
          {
            kind: 'call',
            text: String(item.name),
            id: String(item.call_id),
            input: JSON.parse(String(item.arguments)),
          },
        ];
      case 'function_call_output':
        return [{ kind: 'result', text: text(item.output), id: String(item.call_id) }];
      default:
        return [];
    }
  });
}

/** Anthropic's messages. */
export function anthropicConversation({ body }: FakeRequest): Said[] {
  return list(body.messages).flatMap(({ role, content }) =>
    list(content).flatMap((block): Said[] => {
      switch (block.type) {
        case 'text':
          return [{ kind: role === 'user' ? 'user' : 'text', text: String(block.text) }];
        case 'thinking':
          return [{ kind: 'thinking', text: String(block.thinking), signature: String(block.signature) }];
        case 'tool_use':
          return [{ kind: 'call', text: String(block.name), id: String(block.id), input: block.input }];
        case 'tool_result':
          return [{ kind: 'result', text: text(block.content), id: String(block.tool_use_id) }];
        default:
          return [];
      }
    }),
  );
}

/** Google's generative language API. */
export function googleConversation({ body }: FakeRequest): Said[] {
  return list(body.contents).flatMap(({ role, parts }) =>
    list(parts).map((part): Said => {
      const signature =
        part.thoughtSignature === undefined ? {} : { signature: String(part.thoughtSignature) };
      const call = part.functionCall as Wire | undefined;
      if (call) return { kind: 'call', text: String(call.name), input: call.args, ...signature };
      const result = part.functionResponse as { response: Wire } | undefined;
      if (result) return { kind: 'result', text: String(result.response.content ?? result.response.error) };
      if (part.thought) return { kind: 'thinking', text: String(part.text), ...signature };
      return { kind: role === 'user' ? 'user' : 'text', text: String(part.text), ...signature };
    }),
  );
}

function said(kind: Said['kind'], value: unknown): Said[] {
  return typeof value === 'string' && value !== '' ? [{ kind, text: value }] : [];
}
