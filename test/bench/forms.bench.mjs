/**
 * Forms against the least that they can cost in Node: a page of 50 fields against a plain string over node:http, and responses
 * until their rows are durable against an insert that is committed.
 */
import { execFileSync } from 'node:child_process';
import http from 'node:http';
import {
  atelier,
  bench,
  compare,
  database,
  postJson,
  programOf,
  report,
  requestsPerSecond,
  serve,
} from './lib.mjs';

const ROUNDS = 3;
const MS = 2000;
const RESPONSES = 2000;
const CONNECTIONS = 16;
const MIN_AGE_MS = 3100;

const fields = Array.from(
  { length: 50 },
  (_, n) => `  - { id: field_${n}, label: Question number ${n}, type: text, help: What you think of it }\n`,
);
const FORM = `title: Fifty questions\nprotection: none\nfields:\n${fields.join('')}`;
const values = { field_0: 'Ada', field_1: 'Lovelace', field_2: 'ada@example.com' };

const wrk = programOf('wrk');
const agent = new http.Agent({ keepAlive: true, maxSockets: CONNECTIONS });

function ask(url, headers, body) {
  return new Promise((resolve, reject) => {
    const request = http.request(url, { agent, headers, method: body ? 'POST' : 'GET' }, async response => {
      const chunks = [];
      for await (const chunk of response) chunks.push(chunk);
      const text = Buffer.concat(chunks).toString();
      if (response.statusCode === 200) resolve(text);
      else reject(new Error(`${url} answered ${response.statusCode}: ${text.slice(0, 300)}`));
    });
    request.once('error', reject).end(body);
  });
}

/** Pages a second; by wrk where it is installed, as a client in Node.js costs more than what it measures. */
async function pageRate(url, headers = {}) {
  if (!wrk) return requestsPerSecond(url, { headers, ms: MS, connections: CONNECTIONS });
  const given = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]);
  const words = ['-t1', `-c${CONNECTIONS}`, `-d${MS / 1000}s`, ...given, url];
  const text = execFileSync(wrk, words, { encoding: 'utf8' });
  if (/Non-2xx|Socket errors/.test(text)) throw new Error(`${url} was not answered well: ${text}`);
  return Number(/Requests\/sec:\s+([\d.]+)/.exec(text)?.[1]);
}

/** How many of these bodies a second are answered. */
async function rate(url, headers, bodies) {
  const left = [...bodies];
  const started = performance.now();
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      for (let body = left.pop(); body; body = left.pop()) await ask(url, headers, body);
    }),
  );
  return (bodies.length / (performance.now() - started)) * 1000;
}

await bench(async () => {
  const ground = await database();
  const service = await atelier({
    ...ground,
    RATE_LIMITS_PER_HOUR: 'form_address=0,form=0',
    RATE_LIMITS_PER_MINUTE: 'credential=0,shared=0,anonymous=0',
  });
  const { api_key, workspace_id } = service.credentials;
  const place = `${service.url}/api/workspaces/${workspace_id}`;
  const put = await fetch(`${place}/files/content`, {
    method: 'PUT',
    headers: { 'x-api-key': api_key, 'content-type': 'application/json' },
    body: JSON.stringify({ path: 'fifty.form', content: FORM }),
  });
  if (!put.ok) throw new Error(`the form was not written: ${await put.text()}`);
  const form = await postJson(`${place}/forms/share`, { 'x-api-key': api_key }, { path: 'fifty.form' });
  const address = `${service.url}${new URL(form.url).pathname}`;
  const host = { Host: new URL(form.url).host };
  const page = await ask(address, host);
  const floor = await serve(['test/bench/floors/form-server.mjs', String(page.length)], ground);

  const pages = await compare(
    ROUNDS,
    () => pageRate(address, host),
    () => pageRate(floor.url),
  );
  const figures = ({ ours, floor }) => `${ours | 0} of ${floor | 0} a second`;
  report(
    'page of 50 fields / string',
    pages.ours / pages.floor,
    'goal >= 0.5',
    `${figures(pages)}, ${page.length} bytes`,
  );

  const json = { 'content-type': 'application/json' };
  const submissions = await compare(
    ROUNDS,
    async () => {
      const bodies = [];
      for (let n = 0; n < RESPONSES; n++) {
        const { ticket } = JSON.parse(await ask(`${address}/challenge`, host));
        bodies.push(JSON.stringify({ ticket, values }));
      }
      await new Promise(done => setTimeout(done, MIN_AGE_MS));
      return rate(address, { ...host, ...json }, bodies);
    },
    () => rate(floor.url, json, Array(RESPONSES).fill(JSON.stringify({ values }))),
  );
  report(
    'responses to durable rows / insert',
    submissions.ours / submissions.floor,
    'goal >= 0.5',
    figures(submissions),
  );
  agent.destroy();
});
