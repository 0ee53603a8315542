/**
 * A model over HTTP, by the chat completions of OpenAI: it streams a call of `write_file` for a message like
 * `write a.txt: Hello`, and after the tool's result a sentence.
 */
import http from 'node:http';

const head = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_760_000_000, model: 'bench' };
const usage = { prompt_tokens: 900, completion_tokens: 20, total_tokens: 920 };

const chunk = (delta, finish_reason = null) => ({ ...head, choices: [{ index: 0, delta, finish_reason }] });

function callOf(path, content) {
  const text = JSON.stringify({ path, content });
  const pieces = text.match(/.{1,8}/gs);
  const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'write_file', arguments: '' } };
  return [
    chunk({ role: 'assistant', content: '' }),
    chunk({ tool_calls: [call] }),
    ...pieces.map(piece => chunk({ tool_calls: [{ index: 0, function: { arguments: piece } }] })),
    chunk({}, 'tool_calls'),
  ];
}

const sentence = [
  chunk({ role: 'assistant', content: '' }),
  ...['The ', 'file ', 'is ', 'written', '.'].map(content => chunk({ content })),
  chunk({}, 'stop'),
];

const textOf = content => (typeof content === 'string' ? content : content.map(({ text }) => text).join(''));

function answerTo({ messages }) {
  const last = messages.at(-1);
  if (last.role !== 'user') return sentence;
  const [, path, content] = /write (\S+): (.*)/.exec(textOf(last.content)) ?? [];
  return path ? callOf(path, content) : sentence;
}

const server = http.createServer((request, response) => {
  const parts = [];
  request.on('data', part => parts.push(part));
  request.on('end', () => {
    const asked = JSON.parse(Buffer.concat(parts).toString());
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const data of [...answerTo(asked), { ...head, choices: [], usage }])
      response.write(`data: ${JSON.stringify(data)}\n\n`);
    response.end('data: [DONE]\n\n');
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () =>
  process.stdout.write(`ready http://127.0.0.1:${server.address().port}\n`),
);
