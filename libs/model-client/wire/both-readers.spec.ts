import fc from 'fast-check';
import { anthropicAnswers, tolerableAnthropicAnswers } from './testing/anthropic-answers.js';
import { anthropicReaders, chatReaders, eventsOf, outcomeOf, partsOf } from './testing/both-readers.js';
import { chatAnswers, tolerableChatAnswers } from './testing/chat-answers.js';

const PROTOCOLS = [
  { name: 'chat completions', ...chatReaders, answers: chatAnswers, tolerable: tolerableChatAnswers },
  { name: 'messages', ...anthropicReaders, answers: anthropicAnswers, tolerable: tolerableAnthropicAnswers },
];

describe.each(PROTOCOLS)('$name, read like the SDK reads them', ({ sdk, ours, answers, tolerable }) => {
  it.each(Object.entries(answers))('%s', async (_name, answer) => {
    const outcome = await outcomeOf(ours(answer));
    expect(outcome).toEqual(await outcomeOf(sdk(answer)));
    // What comes with an error, nobody reads.
    if ('content' in outcome.result) expect(await partsOf(ours(answer))).toEqual(await partsOf(sdk(answer)));
  });

  it.each(Object.entries(answers))('%s, byte by byte', async (_name, answer) => {
    const bytes = answer.bytes.subarray(0, 5_000);
    const start = { ...answer, bytes };
    const single = Array.from(bytes, (_byte, at) => bytes.subarray(at, at + 1));
    expect(await outcomeOf(ours(start, single))).toEqual(await outcomeOf(sdk(start)));
  });

  it.each(Object.entries(answers))('%s, with other line ends', async (_name, answer) => {
    const bytes = Buffer.from(answer.bytes.toString('utf8').replaceAll('\n', '\r\n'));
    expect(await outcomeOf(ours({ ...answer, bytes }))).toEqual(await outcomeOf(sdk(answer)));
  });

  it('answers that arrive in any pieces', async () => {
    const small = Object.values(answers).filter(({ bytes }) => bytes.byteLength < 10_000);
    const pieces = fc.array(fc.nat(), { maxLength: 40 });
    const property = fc.asyncProperty(fc.constantFrom(...small), pieces, async (answer, cuts) => {
      const chunks = cutAt(answer.bytes, cuts);
      expect(await outcomeOf(ours(answer, chunks))).toEqual(await outcomeOf(sdk(answer, chunks)));
    });
    await fc.assert(property, { seed: 1, numRuns: 300 });
  });

  it.each(Object.entries(tolerable))('but not for %s', async (_name, answer) => {
    expect(await outcomeOf(ours(answer))).toMatchObject({ result: { text: 'A', finish_reason: 'stop' } });
    expect(await outcomeOf(sdk(answer))).not.toMatchObject({ result: { text: 'A' } });
  });
});

it('tells what a server says that is wrong, where it says it in its own way', async () => {
  expect(await outcomeOf(chatReaders.ours(eventsOf({ error: 'The model is gone' })))).toMatchObject({
    result: { kind: 'overloaded', message: expect.stringContaining('The model is gone') },
  });
});

function cutAt(bytes: Buffer, cuts: number[]): Buffer[] {
  const ends = [...cuts.map(cut => cut % (bytes.byteLength + 1)).sort((a, b) => a - b), bytes.byteLength];
  return ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
}
