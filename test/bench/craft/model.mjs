/**
 * The model of the tasks, over HTTP by OpenAI's chat completions: a policy for each, or with CRAFT_MODEL a model of the server that
 * OPENAI_COMPATIBLE_BASE_URL names, to which requests are passed on. Either way it measures what goes over the wire.
 */
import { once } from 'node:events';
import http from 'node:http';
import { Meter } from './meter.mjs';
import { Policy } from './policy.mjs';

export class CraftModel {
  #runs = new Map();
  #server = http.createServer((request, response) => void this.#answer(request, response));

  constructor(upstream) {
    this.upstream = upstream;
  }

  async start() {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    this.url = `http://127.0.0.1:${this.#server.address().port}/v1`;
  }

  stop() {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /** The next run of a task; its requests name it as their model. */
  open(task, way) {
    const name = `${task.name}.${way}`;
    const meter = new Meter();
    const policy = new Policy(task, way);
    this.#runs.set(name, { policy, meter });
    return { model: `local/${name}`, meter, policy };
  }

  async #answer(request, response) {
    const asked = JSON.parse(Buffer.concat(await request.toArray()).toString());
    const run = this.#runs.get(asked.model);
    if (!run)
      return response.writeHead(404).end(JSON.stringify({ error: { message: `No run ${asked.model}` } }));
    run.meter.asked(asked);
    if (this.upstream) return this.#passOn(asked, response, run);
    const answer = await run.policy
      .next(resultsIn(asked))
      .catch(error => ({ text: `The policy failed: ${error.stack}` }));
    run.meter.answered(answer);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const data of chunksOf(answer, run.meter.usage)) response.write(`data: ${JSON.stringify(data)}\n\n`);
    response.end('data: [DONE]\n\n');
  }

  async #passOn(asked, response, run) {
    const { baseUrl, model, key } = this.upstream;
    const answer = await fetch(`${baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(key ? { authorization: `Bearer ${key}` } : {}) },
      body: JSON.stringify({ ...asked, model }),
    });
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'text/plain' });
    let text = '';
    const decoder = new TextDecoder();
    for await (const chunk of answer.body) {
      text += decoder.decode(chunk, { stream: true });
      response.write(chunk);
    }
    run.meter.answered(read(text));
    response.end();
  }
}

/** The results since the last answer. */
function resultsIn({ messages }) {
  const last = messages.findLastIndex(({ role }) => role === 'assistant');
  return messages
    .slice(last + 1)
    .filter(({ role }) => role === 'tool')
    .map(({ tool_call_id: id, content }) => ({ id, text: content }));
}

function chunksOf({ calls = [], text }, usage) {
  const chunk = (delta, finish_reason = null) => ({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason }],
  });
  return [
    chunk({ role: 'assistant', content: text ?? '' }),
    ...calls.map(({ id, tool, input }, index) =>
      chunk({
        tool_calls: [
          { index, id, type: 'function', function: { name: tool, arguments: JSON.stringify(input) } },
        ],
      }),
    ),
    chunk({}, calls.length > 0 ? 'tool_calls' : 'stop'),
    { choices: [], usage },
  ];
}

/** What was streamed, put together. */
function read(stream) {
  const calls = [];
  let text = '';
  for (const [, data] of stream.matchAll(/^data: (\{.*\})$/gm)) {
    const delta = JSON.parse(data).choices?.[0]?.delta ?? {};
    text += delta.content ?? '';
    for (const { index = 0, function: called = {} } of delta.tool_calls ?? []) {
      calls[index] ??= { tool: '', input: '' };
      calls[index].tool += called.name ?? '';
      calls[index].input += called.arguments ?? '';
    }
  }
  return { calls, text };
}
