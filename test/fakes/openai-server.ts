import { responsesEvents } from './openai-responses.js';
import {
  argumentPieces,
  type FakeEvent,
  type FakeReply,
  type FakeRequest,
  nextId,
  pieces,
  ScriptedServer,
  toolCalls,
  usageOf,
} from './scripted-server.js';

/**
 * A local server that speaks OpenAI's chat completions (`/v1/chat/completions`) and responses
 * (`/v1/responses`) streaming protocols.
 */
export class FakeOpenAi extends ScriptedServer {
  static start(): Promise<FakeOpenAi> {
    return new FakeOpenAi().listen();
  }

  protected override events(request: FakeRequest, reply: FakeReply): FakeEvent[] | undefined {
    if (request.path === '/v1/chat/completions') return chatEvents(request, reply);
    if (request.path === '/v1/responses') return responsesEvents(request, reply);
    return undefined;
  }

  protected override errorBody(status: number): unknown {
    return {
      error: { message: `Scripted error ${status}.`, type: 'scripted_error', param: null, code: null },
    };
  }
}

/** https://platform.openai.com/docs/api-reference/chat-streaming */
function chatEvents(request: FakeRequest, reply: FakeReply): FakeEvent[] {
  const calls = toolCalls(reply);
  const base = {
    id: `chatcmpl-${nextId()}`,
    object: 'chat.completion.chunk',
    created: 1_760_000_000,
    model: request.body.model,
  };
  const chunk = (delta: object, finish_reason: string | null = null): FakeEvent => ({
    data: { ...base, choices: [{ index: 0, delta, finish_reason }] },
    delta: Object.keys(delta).length > 0,
  });
  const ending: FakeEvent[] = reply.error
    ? [{ data: { error: { ...reply.error, param: null } } }]
    : [
        chunk({}, reply.finish ?? (calls.length > 0 ? 'tool_calls' : 'stop')),
        ...(wantsUsage(request) ? [{ data: { ...base, choices: [], usage: chatUsage(reply) } }] : []),
      ];
  return [
    { ...chunk({ role: 'assistant', content: '' }), delta: false },
    ...pieces(reply.reasoning).map(text => chunk({ reasoning_content: text })),
    ...pieces(reply.text).map(content => chunk({ content })),
    ...calls.flatMap(({ id, name, input }, index) => [
      chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }),
      ...argumentPieces(input).map(text => chunk({ tool_calls: [{ index, function: { arguments: text } }] })),
    ]),
    ...ending,
    { data: '[DONE]' },
  ];
}

function wantsUsage({ body }: FakeRequest): boolean {
  const options = body.stream_options;
  return typeof options === 'object' && options !== null && 'include_usage' in options;
}

function chatUsage(reply: FakeReply) {
  const { input, output, cacheRead, reasoning } = usageOf(reply);
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cacheRead },
    completion_tokens_details: { reasoning_tokens: reasoning },
  };
}
