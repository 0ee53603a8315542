import {
  argumentPieces,
  type FakeEvent,
  type FakeReply,
  type FakeRequest,
  nextId,
  pieces,
  toolCalls,
  usageOf,
} from './scripted-server.js';

/** https://platform.openai.com/docs/api-reference/responses-streaming */
export function responsesEvents(request: FakeRequest, reply: FakeReply): FakeEvent[] {
  const response = {
    id: `resp_${nextId()}`,
    object: 'response',
    created_at: 1_760_000_000,
    model: request.body.model,
    output: [],
  };
  const items = [
    ...(reply.reasoning === undefined ? [] : [reasoningItem(reply)]),
    ...(reply.text === undefined ? [] : [messageItem(reply.text)]),
    ...toolCalls(reply).map(functionItem),
  ];
  const events = [
    { type: 'response.created', response: { ...response, status: 'in_progress' } },
    { type: 'response.in_progress', response: { ...response, status: 'in_progress' } },
    ...items.flatMap((item, output_index) => item(output_index)),
    ending(response, reply),
  ];
  return events.map((data, sequence_number) => ({
    event: data.type,
    data: { sequence_number, ...data },
    delta: data.type.endsWith('.delta'),
  }));
}

type WireEvent = { type: string } & Record<string, unknown>;
type Item = (output_index: number) => WireEvent[];

function reasoningItem(reply: FakeReply): Item {
  const item = { type: 'reasoning', id: `rs_${nextId()}`, summary: [], encrypted_content: null };
  return output_index => {
    const at = { item_id: item.id, output_index, summary_index: 0 };
    const text = reply.reasoning ?? '';
    return [
      { type: 'response.output_item.added', output_index, item },
      { type: 'response.reasoning_summary_part.added', ...at, part: { type: 'summary_text', text: '' } },
      ...pieces(text).map(delta => ({ type: 'response.reasoning_summary_text.delta', ...at, delta })),
      { type: 'response.reasoning_summary_part.done', ...at, part: { type: 'summary_text', text } },
      {
        type: 'response.output_item.done',
        output_index,
        item: {
          ...item,
          encrypted_content: reply.signature ?? null,
          summary: [{ type: 'summary_text', text }],
        },
      },
    ];
  };
}

function messageItem(text: string): Item {
  const item = {
    type: 'message',
    id: `msg_${nextId()}`,
    role: 'assistant',
    status: 'in_progress',
    content: [],
  };
  return output_index => {
    const at = { item_id: item.id, output_index, content_index: 0 };
    const part = { type: 'output_text', text, annotations: [] };
    return [
      { type: 'response.output_item.added', output_index, item },
      { type: 'response.content_part.added', ...at, part: { ...part, text: '' } },
      ...pieces(text).map(delta => ({ type: 'response.output_text.delta', ...at, delta })),
      { type: 'response.output_text.done', ...at, text },
      { type: 'response.content_part.done', ...at, part },
      {
        type: 'response.output_item.done',
        output_index,
        item: { ...item, status: 'completed', content: [part] },
      },
    ];
  };
}

function functionItem(call: { id: string; name: string; input: unknown }): Item {
  const text = argumentPieces(call.input).join('');
  const item = { type: 'function_call', id: `fc_${nextId()}`, call_id: call.id, name: call.name };
  return output_index => {
    const at = { item_id: item.id, output_index };
    return [
      {
        type: 'response.output_item.added',
        output_index,
        item: { ...item, arguments: '', status: 'in_progress' },
      },
      ...argumentPieces(call.input).map(delta => ({
        type: 'response.function_call_arguments.delta',
        ...at,
        delta,
      })),
      { type: 'response.function_call_arguments.done', ...at, arguments: text },
      {
        type: 'response.output_item.done',
        output_index,
        item: { ...item, arguments: text, status: 'completed' },
      },
    ];
  };
}

function ending(response: object, reply: FakeReply): WireEvent {
  if (reply.error) {
    const error = { code: reply.error.code ?? reply.error.type, message: reply.error.message };
    return { type: 'response.failed', response: { ...response, status: 'failed', error } };
  }
  const { input, output, cacheRead, reasoning } = usageOf(reply);
  const usage = {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cacheRead },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  };
  return reply.finish
    ? {
        type: 'response.incomplete',
        response: { ...response, status: 'incomplete', incomplete_details: { reason: reply.finish }, usage },
      }
    : { type: 'response.completed', response: { ...response, status: 'completed', usage } };
}
