import { type Answer, eventsOf } from './answers.js';

const START = {
  type: 'message_start',
  message: {
    id: 'msg_1',
    model: 'claude-1',
    content: [],
    stop_reason: null,
    usage: {
      input_tokens: 40,
      cache_read_input_tokens: 60,
      cache_creation_input_tokens: 7,
      output_tokens: 1,
    },
  },
};
const STOP = { type: 'message_stop' };

const open = (index: number, content_block: object) => ({
  type: 'content_block_start',
  index,
  content_block,
});
const delta = (index: number, fields: object) => ({ type: 'content_block_delta', index, delta: fields });
const close = (index: number) => ({ type: 'content_block_stop', index });
const json = (index: number, partial_json: string) =>
  delta(index, { type: 'input_json_delta', partial_json });
const stop = (stop_reason: string | null, usage: object = {}) => ({
  type: 'message_delta',
  delta: { stop_reason, stop_sequence: null },
  usage: { output_tokens: 20, ...usage },
});
const text = (index: number, ...pieces: string[]) => [
  open(index, { type: 'text', text: '' }),
  ...pieces.map(piece => delta(index, { type: 'text_delta', text: piece })),
  close(index),
];
const tool = (index: number, id: string, ...pieces: string[]) => [
  open(index, { type: 'tool_use', id, name: 'read', input: {} }),
  ...pieces.map(piece => json(index, piece)),
  close(index),
];
const ended = (reason: string, ...events: (object | string)[]) =>
  eventsOf(START, { type: 'ping' }, ...events, stop(reason), STOP);
const failed = (type: string, extra: object = {}) => ({
  type: 'error',
  error: { type, message: `It says ${type}`, ...extra },
});

/** Answers of Anthropic's messages. */
export const anthropicAnswers: Record<string, Answer> = {
  text: ended('end_turn', ...text(0, 'Grüße ', '👩‍👩‍👧 – 漢字', '')),
  'several texts': ended('end_turn', ...text(0, 'One'), ...text(1, 'Two')),
  'a call in pieces': ended(
    'tool_use',
    ...text(0, 'Reading.'),
    ...tool(1, 'toolu_1', '', '{"path":"a\\', 'u00e9","te', 'xt":"\\"x\\""}'),
  ),
  'several calls': ended('tool_use', ...tool(0, 'a', '{"x":', '1}'), ...tool(1, 'b', '{"x":2}')),
  'calls side by side': ended(
    'tool_use',
    open(0, { type: 'tool_use', id: 'a', name: 'read', input: {} }),
    open(1, { type: 'tool_use', id: 'b', name: 'list', input: {} }),
    json(1, '{"b":'),
    json(0, '{"a":'),
    json(0, '1}'),
    json(1, '2}'),
    close(1),
    close(0),
  ),
  'a call without arguments': ended('tool_use', ...tool(0, 'a')),
  'a call that begins with its arguments': ended(
    'tool_use',
    open(0, { type: 'tool_use', id: 'a', name: 'read', input: { path: 'x' }, caller: { type: 'direct' } }),
    close(0),
  ),
  'a call from code': ended(
    'tool_use',
    open(0, {
      type: 'tool_use',
      id: 'a',
      name: 'read',
      input: {},
      caller: { type: 'code_execution_20250825', tool_id: 'srv' },
    }),
    json(0, '{}'),
    close(0),
  ),
  'a call of broken JSON': ended('tool_use', ...tool(0, 'a', '{"x":')),
  'a call in the beginning': eventsOf(
    {
      ...START,
      message: {
        ...START.message,
        stop_reason: 'tool_use',
        content: [{ type: 'tool_use', id: 'a', name: 'read', input: { x: 1 } }],
      },
    },
    STOP,
  ),
  thinking: ended(
    'end_turn',
    open(0, { type: 'thinking', thinking: '', signature: '' }),
    delta(0, { type: 'thinking_delta', thinking: 'Hm' }),
    delta(0, { type: 'thinking_delta', thinking: ', so' }),
    delta(0, { type: 'signature_delta', signature: 'sig==' }),
    close(0),
    ...text(1, 'Yes'),
  ),
  'thinking that is not shown': ended(
    'tool_use',
    open(0, { type: 'thinking', thinking: '', signature: '' }),
    delta(0, { type: 'signature_delta', signature: 'sig==' }),
    close(0),
    ...tool(1, 'a', '{}'),
  ),
  'redacted thinking': ended(
    'end_turn',
    open(0, { type: 'redacted_thinking', data: 'xyz' }),
    close(0),
    ...text(1, 'Yes'),
  ),
  'a compaction': ended(
    'compaction',
    open(0, { type: 'compaction', content: null }),
    delta(0, { type: 'compaction_delta', content: 'A summary' }),
    close(0),
  ),
  'a signed compaction': ended(
    'end_turn',
    open(0, { type: 'compaction', content: 'All', signature: 's' }),
    close(0),
  ),
  'another model': ended(
    'end_turn',
    open(0, { type: 'fallback', from: { model: 'a' }, to: { model: 'b' } }),
    ...text(1, 'Yes'),
  ),
  citations: ended(
    'end_turn',
    open(0, { type: 'text', text: '' }),
    delta(0, { type: 'text_delta', text: 'So it says' }),
    delta(0, {
      type: 'citations_delta',
      citation: {
        type: 'char_location',
        cited_text: 'x',
        document_index: 0,
        document_title: 't',
        start_char_index: 0,
        end_char_index: 1,
      },
    }),
    close(0),
  ),
  'counted tokens': eventsOf(
    START,
    ...text(0, 'A'),
    stop('end_turn', {
      input_tokens: 50,
      cache_read_input_tokens: 80,
      cache_creation_input_tokens: null,
      output_tokens_details: { thinking_tokens: 12 },
    }),
    STOP,
  ),
  ...Object.fromEntries(
    [
      ['message', 'compaction'],
      ['message', 'advisor_message'],
      ['message', 'fallback_message'],
      ['advisor_message'],
    ].map(types => [
      `counted rounds of ${types.join(' and ')}`,
      eventsOf(
        START,
        ...text(0, 'A'),
        stop('end_turn', { iterations: types.map(type => ({ type, input_tokens: 500, output_tokens: 30 })) }),
        STOP,
      ),
    ]),
  ),
  ...Object.fromEntries(
    ['stop_sequence', 'pause_turn', 'refusal', 'max_tokens', 'model_context_window_exceeded', 'new'].map(
      reason => [`an end by ${reason}`, ended(reason, ...text(0, 'A'))],
    ),
  ),
  'an end for no reason': eventsOf(START, ...text(0, 'A'), stop(null), STOP),
  'no end': eventsOf(START, ...text(0, 'A'), stop('end_turn')),
  'an end in the middle': eventsOf(START, ...text(0, 'A').slice(0, 2)),
  'no event': eventsOf(),
  'an answer cut off': { ...eventsOf(START, ...text(0, 'A').slice(0, 2), 'data: {"ty'), cut: true },
  'the same beginning twice': eventsOf(START, START, ...text(0, 'A'), stop('end_turn'), STOP),
  'another beginning': eventsOf(
    START,
    { ...START, message: { ...START.message, id: 'msg_2' } },
    ...text(0, 'A'),
    stop('end_turn'),
    STOP,
  ),
  ...Object.fromEntries(
    [
      'api_error',
      'overloaded_error',
      'rate_limit_error',
      'request_too_large',
      'authentication_error',
      'permission_error',
      'not_found_error',
      'billing_error',
      'invalid_request_error',
      'timeout_error',
    ].map(type => [`${type} in mid-stream`, eventsOf(START, ...text(0, 'A'), failed(type))]),
  ),
  'an error at once': eventsOf(failed('overloaded_error')),
  'an error with a status': eventsOf(START, failed('api_error', { statusCode: 503 })),
  'broken JSON': eventsOf(START, ...text(0, 'A'), 'data: {"type"\n\n'),
  'comments and other fields': eventsOf(
    ': ping\n\n',
    'id: 1\nretry: 5\n',
    START,
    ...text(0, 'A'),
    stop('end_turn'),
    STOP,
  ),
  'a huge event': ended('end_turn', ...text(0, 'ä'.repeat(300_000))),
};
