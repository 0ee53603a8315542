import { type Answer, eventsOf } from './answers.js';

const BASE = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_760_000_000, model: 'small-1' };
const USAGE = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 };
const DONE = 'data: [DONE]\n\n';

const chunk = (delta: object, finish_reason: string | null = null) => ({
  ...BASE,
  choices: [{ index: 0, delta, finish_reason }],
});
const call = (index: number | undefined, fields: { id?: string; name?: string; args?: string }) =>
  chunk({
    tool_calls: [
      {
        ...(index === undefined ? {} : { index }),
        ...(fields.id && { id: fields.id, type: 'function' }),
        function: { ...(fields.name && { name: fields.name }), arguments: fields.args ?? '' },
      },
    ],
  });
const ended = (reason: string, ...deltas: (object | string)[]) =>
  eventsOf(
    chunk({ role: 'assistant', content: '' }),
    ...deltas,
    chunk({}, reason),
    { ...BASE, choices: [], usage: USAGE },
    DONE,
  );

/** Answers of servers that speak OpenAI's chat completions, each in its own way. */
export const chatAnswers: Record<string, Answer> = {
  text: ended('stop', chunk({ content: 'Grüße ' }), chunk({ content: '👩‍👩‍👧 – 漢字' })),
  'a call in pieces': ended(
    'tool_calls',
    call(0, { id: 'call_1', name: 'write' }),
    call(0, { args: '{"path":"a\\' }),
    call(0, { args: 'u00e9.txt","te' }),
    call(0, { args: 'xt":"\\' }),
    call(0, { args: '"quoted\\""}' }),
  ),
  'calls side by side': ended(
    'tool_calls',
    chunk({ content: 'Both.' }),
    call(0, { id: 'a', name: 'read', args: '{"p":' }),
    call(1, { id: 'b', name: 'list', args: '{' }),
    call(0, { args: '1}' }),
    call(1, { args: '}' }),
  ),
  'calls whose second comes first': ended(
    'tool_calls',
    call(1, { id: 'b', name: 'list', args: '{}' }),
    call(0, { id: 'a', name: 'read', args: '{}' }),
  ),
  'calls without an index, whole': ended(
    'tool_calls',
    call(undefined, { id: 'a', name: 'read', args: '{"x":1}' }),
    call(undefined, { id: 'b', name: 'read', args: '{"x":2}' }),
  ),
  'a call without an id': ended('tool_calls', call(0, { name: 'read', args: '{}' })),
  'two calls with one id': ended(
    'tool_calls',
    call(0, { id: 'a', name: 'read', args: '{}' }),
    call(1, { id: 'a', name: 'read', args: '{}' }),
  ),
  'a call whose name comes late': ended(
    'tool_calls',
    call(0, { id: 'a', args: '{"p"' }),
    call(0, { args: ':' }),
    call(0, { name: 'read', args: '1' }),
    call(0, { args: '}' }),
  ),
  'a call that never has a name': ended('tool_calls', call(0, { id: 'a', args: '{}' })),
  'a call that repeats its name': ended(
    'tool_calls',
    call(0, { id: 'a', name: 'read', args: '{"p":' }),
    call(0, { id: 'a', name: 'read', args: '1}' }),
  ),
  'a call of broken JSON': ended('tool_calls', call(0, { id: 'a', name: 'read', args: '{"p":' })),
  'a call with a signature of thought': ended(
    'tool_calls',
    chunk({
      tool_calls: [
        {
          index: 0,
          id: 'a',
          function: { name: 'read', arguments: '{}' },
          extra_content: { google: { thought_signature: 'sig' } },
        },
      ],
    }),
  ),
  'calls that end with stop': ended('stop', call(0, { id: 'a', name: 'read', args: '{}' })),
  reasoning_content: ended(
    'stop',
    chunk({ reasoning_content: 'Hm' }),
    chunk({ reasoning_content: ', so' }),
    chunk({ content: 'Yes' }),
  ),
  reasoning: ended('stop', chunk({ reasoning: 'Hm' }), chunk({ content: 'Yes' })),
  'reasoning before a call': ended(
    'tool_calls',
    chunk({ reasoning: 'Hm' }),
    call(0, { id: 'a', name: 'read', args: '{}' }),
  ),
  'reasoning and text in one event': ended('stop', chunk({ reasoning_content: 'Hm', content: 'Yes' })),
  'thinking parts': ended(
    'stop',
    chunk({
      content: [
        { type: 'thinking', thinking: [{ type: 'text', text: 'Hm' }, null, { type: 'reference' }] },
        { type: 'text', text: 'Yes' },
        { type: 'text', text: '' },
        { type: 'image' },
      ],
    }),
  ),
  'a refusal': ended('stop', chunk({ refusal: 'I will ' }), chunk({ refusal: 'not.' })),
  'a refusal that is none': ended('stop', chunk({ content: 'Yes', refusal: false })),
  'a refusal with the end': eventsOf(chunk({ content: 'A' }), chunk({ refusal: 'No' }, 'stop'), DONE),
  'counted tokens': eventsOf(chunk({ content: 'A' }, 'stop'), {
    ...BASE,
    choices: [],
    usage: {
      ...USAGE,
      prompt_tokens_details: { cached_tokens: 60, audio_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 15, accepted_prediction_tokens: 2 },
    },
  }),
  'tokens of null': eventsOf(chunk({ content: 'A' }, 'stop'), {
    ...BASE,
    choices: [],
    usage: { prompt_tokens: null, completion_tokens: null, prompt_tokens_details: null },
  }),
  'no count of tokens': eventsOf(chunk({ content: 'A' }, 'stop'), DONE),
  ...Object.fromEntries(
    ['length', 'content_filter', 'function_call', 'eos', ''].map(reason => [
      `an end by "${reason}"`,
      eventsOf(chunk({ content: 'A' }, reason)),
    ]),
  ),
  'no end': eventsOf(chunk({ content: 'A' })),
  'no event': eventsOf(),
  'an event without its empty line': {
    bytes: Buffer.concat([ended('stop', chunk({ content: 'A' })).bytes.subarray(0, -1)]),
  },
  'an answer cut off': { ...eventsOf(chunk({ content: 'A' }), 'data: {"choi'), cut: true },
  'no choices': eventsOf({ ...BASE, choices: [] }, chunk({ content: 'A' }, 'stop')),
  'a first event without metadata': eventsOf(
    { id: '', model: '', created: 0, choices: [] },
    chunk({ content: 'A' }, 'stop'),
  ),
  'a delta of null': eventsOf(chunk({ content: 'A' }), {
    ...BASE,
    choices: [{ delta: null, finish_reason: 'stop' }],
  }),
  'an error': eventsOf(chunk({ content: 'A' }), {
    error: { message: 'Too many', type: 'rate_limit_error', code: 429 },
  }),
  'an error with choices': eventsOf({ ...BASE, choices: [], error: { message: 'Overloaded', code: 503 } }),
  'an error with a code in words': eventsOf({
    error: { message: 'No.', type: 'invalid_request_error', code: 'invalid_prompt' },
  }),
  'broken JSON': eventsOf(chunk({ content: 'A' }), 'data: {"choices": [\n\n'),
  'data in several lines': eventsOf(
    `data: ${JSON.stringify(chunk({ content: 'A' }, 'stop')).replace('"choices"', '\ndata: "choices"')}\n\n`,
  ),
  'comments and other fields': eventsOf(
    ': ping\n\n',
    'id: 1\nretry: 5\n',
    chunk({ content: 'A' }, 'stop'),
    ': bye\n\n',
    DONE,
  ),
  'a huge event': ended('stop', chunk({ content: 'ä'.repeat(300_000) })),
};
