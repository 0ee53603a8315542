/** An OpenAI-compatible model that answers each question with a few words, streamed. Returns its base URL. */
import { once } from 'node:events';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { onEnd } from '../lib.mjs';

const WORDS = ['All', ' of', ' this', ' is', ' well', '.'];
const chunk = (delta, more = {}) =>
  `data: ${JSON.stringify({
    id: 'soak',
    object: 'chat.completion.chunk',
    created: 0,
    model: 'fake',
    choices: [{ index: 0, delta, finish_reason: null, ...more.choice }],
    ...(more.usage ? { usage: more.usage } : {}),
  })}\n\n`;

export async function fakeModel() {
  const server = http.createServer(async (request, response) => {
    for await (const _ of request);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(chunk({ role: 'assistant', content: '' }));
    for (const content of WORDS) {
      await sleep(50);
      response.write(chunk({ content }));
    }
    const usage = { prompt_tokens: 10, completion_tokens: WORDS.length, total_tokens: 10 + WORDS.length };
    response.end(`${chunk({}, { choice: { finish_reason: 'stop' }, usage })}data: [DONE]\n\n`);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onEnd(() => server.close());
  return `http://127.0.0.1:${server.address().port}/v1`;
}
