/**
 * The least that a durable run can cost here: a hand-written loop with the same commits as ours (the step with its tool
 * call, the tool's result, the last step with the end), two calls of the same streaming model over HTTP and the same durable
 * file write.
 */
import { randomUUID } from 'node:crypto';
import { open, rename } from 'node:fs/promises';
import http from 'node:http';
import path from 'node:path';
import pg from 'pg';

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 16 });
// The bench ends the database before it ends us.
pool.on('error', () => undefined);
await pool.query(`
  create table if not exists floor_run (id uuid primary key, status text, response text, steps int default 0);
  create table if not exists floor_row (run_id uuid, kind text, data jsonb, at timestamptz default now());
  create index if not exists floor_row_run on floor_row (run_id)`);

const commit = (id, kind, data, status, response) =>
  pool.query({
    name: 'commit',
    text: `with r as (update floor_run set steps = steps + 1, status = $3, response = $4 where id = $1 returning id),
      e as (insert into floor_row (run_id, kind, data) select id, 'event', $5::jsonb from r)
      insert into floor_row (run_id, kind, data) select id, $2, $5::jsonb from r`,
    values: [id, kind, status, response ?? null, JSON.stringify(data)],
  });

const agent = new http.Agent({ keepAlive: true });

/** What the model answers: its text, and the call that it asks for. */
function ask(messages) {
  return new Promise((resolve, reject) => {
    const request = http.request(
      `${process.env.MODEL_URL}/chat/completions`,
      { method: 'POST', agent },
      response => {
        const answer = { text: '', tool: '', input: '' };
        let rest = '';
        response.setEncoding('utf8').on('data', part => {
          const lines = (rest + part).split('\n');
          rest = lines.pop();
          for (const line of lines) {
            if (!line.startsWith('data: {')) continue;
            const { content, tool_calls } = JSON.parse(line.slice(6)).choices[0]?.delta ?? {};
            if (content) answer.text += content;
            if (tool_calls?.[0].function.name) answer.tool = tool_calls[0].function.name;
            if (tool_calls) answer.input += tool_calls[0].function.arguments;
          }
        });
        response.once('end', () => resolve(answer));
      },
    );
    request.once('error', reject);
    request.end(JSON.stringify({ model: 'bench', stream: true, messages }));
  });
}

async function accept(message) {
  const id = randomUUID();
  await pool.query({
    name: 'accept',
    text: `with r as (insert into floor_run (id, status) values ($1, 'pending') returning id)
      insert into floor_row (run_id, kind, data) select id, 'message', $2::jsonb from r`,
    values: [id, JSON.stringify({ message })],
  });
  return id;
}

async function run(message) {
  const id = await accept(message);
  const said = { role: 'user', content: message };
  const { tool, input } = await ask([said]);
  const { content } = JSON.parse(input);
  await commit(id, 'step', { call: { tool, input } }, 'pending');
  const file = path.join(process.env.WORKSPACE, `.${id}`);
  const handle = await open(file, 'wx');
  await handle.writeFile(content);
  await handle.sync();
  await handle.close();
  await rename(file, path.join(process.env.WORKSPACE, `${id}.txt`));
  // Without this the file may be gone with the power, though the run says that it is there.
  const folder = await open(process.env.WORKSPACE);
  await folder.sync();
  await folder.close();
  await commit(id, 'tool', { output: 'Created' }, 'pending');
  const { text } = await ask([
    said,
    { role: 'assistant', content: input },
    { role: 'tool', content: 'Created' },
  ]);
  await commit(id, 'step', { text }, 'completed', text);
  const { rows } = await pool.query({
    name: 'read',
    text: 'select * from floor_run where id = $1',
    values: [id],
  });
  return rows[0];
}

const server = http.createServer((request, response) => {
  const chunks = [];
  request.on('data', chunk => chunks.push(chunk));
  request.on('end', async () => {
    const { message } = JSON.parse(Buffer.concat(chunks).toString());
    // The least before a first word of an answer: the message is accepted.
    const work = request.url === '/first' ? accept : run;
    response.end(JSON.stringify(await work(message)));
  });
});
server.listen(0, '127.0.0.1', () =>
  process.stdout.write(`ready http://127.0.0.1:${server.address().port}\n`),
);
