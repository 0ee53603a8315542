/** A model for the bench of the client: an answer of some text and a call, in one packet for each event. */
import http from 'node:http';

const WORDS = 40;
const PIECES = [
  '{"path":"a.txt",',
  ...Array.from({ length: 10 }, (_, n) => `"field_${n}":"a value",`),
  '"end":1}',
];
const text = Array.from({ length: WORDS }, (_, n) => ` word${n}`);
const event = value => `event: ${value.type ?? ''}\ndata: ${JSON.stringify(value)}\n\n`;

function chat() {
  const base = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_760_000_000, model: 'm' };
  const chunk = (delta, finish_reason = null) => ({ ...base, choices: [{ index: 0, delta, finish_reason }] });
  const call = fields => chunk({ tool_calls: [{ index: 0, ...fields }] });
  const usage = { prompt_tokens: 100, completion_tokens: 50, total_tokens: 150 };
  return [
    chunk({ role: 'assistant', content: '' }),
    ...text.map(content => chunk({ content })),
    call({ id: 'call_1', type: 'function', function: { name: 'write_file', arguments: '' } }),
    ...PIECES.map(piece => call({ function: { arguments: piece } })),
    chunk({}, 'tool_calls'),
    { ...base, choices: [], usage },
  ].map(value => `data: ${JSON.stringify(value)}\n\n`);
}

function messages() {
  const usage = { input_tokens: 100, output_tokens: 1 };
  const delta = (index, fields) => ({ type: 'content_block_delta', index, delta: fields });
  return [
    { type: 'message_start', message: { id: 'msg_1', model: 'm', content: [], usage } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    ...text.map(word => delta(0, { type: 'text_delta', text: word })),
    { type: 'content_block_stop', index: 0 },
    {
      type: 'content_block_start',
      index: 1,
      content_block: { type: 'tool_use', id: 'toolu_1', name: 'write_file', input: {} },
    },
    ...PIECES.map(piece => delta(1, { type: 'input_json_delta', partial_json: piece })),
    { type: 'content_block_stop', index: 1 },
    { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 50 } },
    { type: 'message_stop' },
  ].map(event);
}

const ANSWERS = { '/v1/chat/completions': chat(), '/v1/messages': messages() };

const server = http.createServer(async (request, response) => {
  request.resume();
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const piece of ANSWERS[request.url]) {
    response.write(piece);
    await new Promise(setImmediate);
  }
  response.end();
});
server.listen(0, '127.0.0.1', () => console.log(`ready http://127.0.0.1:${server.address().port}`));
process.on('SIGTERM', () => process.exit(0));
