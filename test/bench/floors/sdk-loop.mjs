/**
 * The AI SDK's provider and a loop around it, with everything in memory: no database, no HTTP, no file. The package `ai`,
 * which has such a loop, is not part of the project; its provider for OpenAI's protocol is, with the same streams.
 */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';

const chunk = delta => `data: ${JSON.stringify({ id: 'x', created: 0, model: 'm', ...delta })}\n\n`;
const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
const call = {
  index: 0,
  id: 'call_1',
  type: 'function',
  function: { name: 'write_file', arguments: '{"path":"hello.txt","content":"Hello"}' },
};

function answer(isFirst) {
  const delta = isFirst ? { role: 'assistant', tool_calls: [call] } : { role: 'assistant', content: 'Done.' };
  const finish_reason = isFirst ? 'tool_calls' : 'stop';
  const body = [
    chunk({ choices: [{ index: 0, delta, finish_reason: null }] }),
    chunk({ choices: [{ index: 0, delta: {}, finish_reason }], usage }),
    'data: [DONE]\n\n',
  ];
  return new Response(body.join(''), { headers: { 'content-type': 'text/event-stream' } });
}

const provider = createOpenAICompatible({
  name: 'memory',
  baseURL: 'http://memory.invalid/v1',
  includeUsage: true,
  fetch: async (_url, { body }) => answer(!body.includes('"tool"')),
});

const tools = [
  {
    type: 'function',
    name: 'write_file',
    inputSchema: { type: 'object', properties: { path: { type: 'string' }, content: { type: 'string' } } },
  },
];

/** One run: two model calls and one tool. */
export async function run(message) {
  const files = new Map();
  const prompt = [{ role: 'user', content: [{ type: 'text', text: message }] }];
  for (;;) {
    const { stream } = await provider.languageModel('m').doStream({ prompt, tools });
    let text = '';
    const calls = [];
    for await (const part of stream) {
      if (part.type === 'text-delta') text += part.delta;
      if (part.type === 'tool-call') calls.push(part);
    }
    if (calls.length === 0) return text;
    prompt.push({ role: 'assistant', content: calls.map(one => ({ ...one, input: JSON.parse(one.input) })) });
    for (const { toolCallId, toolName, input } of calls) {
      const { path, content } = JSON.parse(input);
      files.set(path, content);
      const output = { type: 'text', value: 'Created' };
      prompt.push({ role: 'tool', content: [{ type: 'tool-result', toolCallId, toolName, output }] });
    }
  }
}
