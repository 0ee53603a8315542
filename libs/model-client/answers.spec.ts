import fc from 'fast-check';
import { anthropicModel, chatModel, outcomeOf } from './testing/answers.js';
import { anthropicAnswers } from './testing/anthropic-answers.js';
import { chatAnswers } from './testing/chat-answers.js';

const PROTOCOLS = [
  { name: 'chat completions', model: chatModel, answers: chatAnswers },
  { name: 'messages', model: anthropicModel, answers: anthropicAnswers },
];

describe.each(PROTOCOLS)('an answer of $name', ({ model, answers }) => {
  it.each(Object.entries(answers))('is the same byte by byte: %s', async (_name, answer) => {
    const bytes = answer.bytes.subarray(0, 5_000);
    const start = { ...answer, bytes };
    const single = Array.from(bytes, (_byte, at) => bytes.subarray(at, at + 1));
    expect(await outcomeOf(model(start, single))).toEqual(await outcomeOf(model(start)));
  });

  it.each(Object.entries(answers))('is the same with other line ends: %s', async (_name, answer) => {
    const bytes = Buffer.from(answer.bytes.toString('utf8').replaceAll('\n', '\r\n'));
    expect(await outcomeOf(model({ ...answer, bytes }))).toEqual(await outcomeOf(model(answer)));
  });

  it('is the same in any pieces', async () => {
    const small = Object.values(answers).filter(({ bytes }) => bytes.byteLength < 10_000);
    const pieces = fc.array(fc.nat(), { maxLength: 40 });
    const property = fc.asyncProperty(fc.constantFrom(...small), pieces, async (answer, cuts) => {
      const chunks = cutAt(answer.bytes, cuts);
      expect(await outcomeOf(model(answer, chunks))).toEqual(await outcomeOf(model(answer)));
    });
    await fc.assert(property, { seed: 1, numRuns: 100 });
  });
});

const text = (said: string) => ({ text: said, finish_reason: 'stop' });
const calls = (...inputs: unknown[]) => ({
  finish_reason: 'tool-calls',
  tool_calls: inputs.map(input => expect.objectContaining({ input })),
});
const failed = (kind: string, retryable: boolean) => ({ kind, retryable });

describe.each([
  [
    'chat completions',
    chatModel,
    chatAnswers,
    {
      text: text('Grüße 👩‍👩‍👧 – 漢字'),
      'a call in pieces': calls({ path: 'aé.txt', text: '"quoted"' }),
      'calls side by side': { ...calls({ p: 1 }, {}), text: 'Both.' },
      'calls without an index, whole': calls({ x: 1 }, { x: 2 }),
      'a call of broken JSON': { finish_reason: 'tool-calls', tool_calls: [{ invalid: expect.any(String) }] },
      'calls that end with stop': calls({}),
      reasoning: {
        ...text('Yes'),
        content: [expect.objectContaining({ type: 'reasoning', text: 'Hm' }), {}],
      },
      'no count of tokens': { ...text('A'), usage: { input_tokens: null } },
      'no end': failed('network', true),
      'no event': failed('network', true),
      'an answer cut off': failed('network', true),
      'an error with choices': failed('overloaded', true),
      'comments and other fields': text('A'),
    },
  ],
  [
    'messages',
    anthropicModel,
    anthropicAnswers,
    {
      text: text('Grüße 👩‍👩‍👧 – 漢字'),
      'several texts': text('OneTwo'),
      'several calls': calls({ x: 1 }, { x: 2 }),
      'a call without arguments': calls({}),
      'a call of broken JSON': { finish_reason: 'tool-calls', tool_calls: [{ invalid: expect.any(String) }] },
      'no end': failed('network', true),
      'an end in the middle': failed('network', true),
      'no event': failed('network', true),
      'an answer cut off': failed('network', true),
      'overloaded_error in mid-stream': failed('overloaded', true),
      'rate_limit_error in mid-stream': failed('rate_limited', true),
      'authentication_error in mid-stream': failed('auth', false),
      'an error at once': failed('overloaded', true),
      'an end by max_tokens': { text: 'A', finish_reason: 'length' },
      'an end by refusal': { text: 'A', finish_reason: 'content-filter' },
      'comments and other fields': text('A'),
    },
  ],
] as const)('an answer of %s is read', (_protocol, model, answers, expected) => {
  it.each(Object.entries(expected))('%s', async (name, outcome) => {
    const answer = answers[name];
    if (!answer) throw new Error(`There is no answer ${name}`);
    expect((await outcomeOf(model(answer))).result).toMatchObject(outcome);
  });
});

function cutAt(bytes: Buffer, cuts: number[]): Buffer[] {
  const ends = [...cuts.map(cut => cut % (bytes.byteLength + 1)).sort((a, b) => a - b), bytes.byteLength];
  return ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
}
