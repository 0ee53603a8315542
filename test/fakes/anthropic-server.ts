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

/** A local server that speaks the streaming protocol of Anthropic's messages (`/v1/messages`). */
export class FakeAnthropic extends ScriptedServer {
  /** What `/v1/messages/count_tokens` answers; absent: it answers what is scripted. */
  tokens: number | undefined;

  static start(): Promise<FakeAnthropic> {
    return new FakeAnthropic().listen();
  }

  protected override events(request: FakeRequest, reply: FakeReply): FakeEvent[] | undefined {
    return request.path === '/v1/messages' ? messageEvents(request, reply) : undefined;
  }

  protected override answered({ path }: FakeRequest): unknown {
    const counts = path === '/v1/messages/count_tokens' && this.tokens !== undefined;
    return counts ? { input_tokens: this.tokens } : undefined;
  }

  protected override errorBody(status: number): unknown {
    return { type: 'error', error: { type: 'scripted_error', message: `Scripted error ${status}.` } };
  }
}

type WireEvent = { type: string } & Record<string, unknown>;

/** https://docs.anthropic.com/en/docs/build-with-claude/streaming */
function messageEvents(request: FakeRequest, reply: FakeReply): FakeEvent[] {
  const calls = toolCalls(reply);
  const { input, output, cacheRead, cacheWrite } = usageOf(reply);
  const usage = {
    // Anthropic counts the cached tokens apart.
    input_tokens: input - cacheRead - cacheWrite,
    cache_read_input_tokens: cacheRead,
    cache_creation_input_tokens: cacheWrite,
    output_tokens: 1,
  };
  const message = {
    id: `msg_${nextId()}`,
    type: 'message',
    role: 'assistant',
    model: request.body.model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage,
  };
  const stop_reason = reply.finish ?? (calls.length > 0 ? 'tool_use' : 'end_turn');
  const events: WireEvent[] = [
    { type: 'message_start', message },
    { type: 'ping' },
    ...blocks(reply, calls).flatMap((block, index) => block(index)),
    ...(reply.error
      ? [{ type: 'error', error: reply.error }]
      : [
          {
            type: 'message_delta',
            delta: { stop_reason, stop_sequence: null },
            usage: { output_tokens: output },
          },
          { type: 'message_stop' },
        ]),
  ];
  return events.map(data => ({ event: data.type, data, delta: data.type === 'content_block_delta' }));
}

type Block = (index: number) => WireEvent[];

function blocks(reply: FakeReply, calls: ReturnType<typeof toolCalls>): Block[] {
  const thinking = pieces(reply.reasoning).map(text => ({ type: 'thinking_delta', thinking: text }));
  const signature = reply.signature ? [{ type: 'signature_delta', signature: reply.signature }] : [];
  const text = pieces(reply.text).map(piece => ({ type: 'text_delta', text: piece }));
  return [
    ...(reply.reasoning === undefined
      ? []
      : [block({ type: 'thinking', thinking: '', signature: '' }, [...thinking, ...signature])]),
    ...(reply.text === undefined ? [] : [block({ type: 'text', text: '' }, text)]),
    ...calls.map(({ id, name, input }) =>
      block(
        { type: 'tool_use', id, name, input: {} },
        argumentPieces(input).map(partial_json => ({ type: 'input_json_delta', partial_json })),
      ),
    ),
  ];
}

function block(content_block: object, deltas: object[]): Block {
  return index => [
    { type: 'content_block_start', index, content_block },
    ...deltas.map(delta => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ];
}
