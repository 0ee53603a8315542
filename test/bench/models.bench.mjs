/**
 * Processor time of a call of a model over HTTP, an answer of 40 words and a call in pieces: this library's reading, the AI
 * SDK's, and a bare request whose answer is thrown away.
 */
import http from 'node:http';
import { ModelRegistry, streamStep } from '../../dist/libs/model-client/index.js';
import { bench, median, report, serve } from './lib.mjs';

const CALLS = 400;
const AT_ONCE = 8;

const tools = Array.from({ length: 20 }, (_, n) => ({
  type: 'function',
  name: `tool_${n}`,
  description: 'Does what its name says, with the file that it is given.',
  inputSchema: { type: 'object', properties: { path: { type: 'string' }, text: { type: 'string' } } },
}));
const prompt = [
  { role: 'system', content: 'You work with tools. '.repeat(100) },
  { role: 'user', content: [{ type: 'text', text: 'Write the file.' }] },
];

/** Milliseconds of processor time that each of many calls takes. */
async function costOf(call) {
  const before = process.cpuUsage();
  for (let made = 0; made < CALLS; made += AT_ONCE)
    await Promise.all(Array.from({ length: AT_ONCE }, () => call()));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / CALLS;
}

function caller(model) {
  return async () => {
    const step = await streamStep({
      model,
      prompt,
      tools,
      signal: new AbortController().signal,
      onDelta() {},
      onRestart: why => Promise.reject(new Error(why.message)),
    });
    if (step.tool_calls[0]?.input.end !== 1) throw new Error(JSON.stringify(step));
  };
}

function bare(url, body) {
  return () =>
    new Promise((resolve, reject) => {
      http
        .request(url, { method: 'POST' }, response => response.resume().once('end', resolve))
        .once('error', reject)
        .end(body);
    });
}

await bench(async () => {
  const { url } = await serve(['test/bench/floors/model-server.mjs']);
  const baseUrl = `${url}/v1`;
  const settings = {
    anthropic: { apiKey: 'plain-secret', baseUrl },
    compatible: [{ name: 'local', baseUrl, models: ['m'] }],
  };
  for (const [name, id, path] of [
    ['chat completions', 'local/m', '/chat/completions'],
    ['messages', 'anthropic/claude-sonnet-4-5', '/messages'],
  ]) {
    const calls = {
      ours: caller(new ModelRegistry(settings).find(id)),
      sdk: caller(new ModelRegistry({ ...settings, client: 'sdk' }).find(id)),
      bare: bare(baseUrl + path, JSON.stringify({ prompt, tools })),
    };
    const costs = { ours: [], sdk: [], bare: [] };
    for (const call of Object.values(calls)) await costOf(call);
    for (let round = 0; round < 3; round++)
      for (const [which, call] of Object.entries(calls)) costs[which].push(await costOf(call));
    const [ours, sdk, least] = [costs.ours, costs.sdk, costs.bare].map(median);
    const figures = `${ours.toFixed(2)} of ${sdk.toFixed(2)} ms; a bare request ${least.toFixed(2)} ms`;
    report(`${name}, of the SDK's time`, ours / sdk, 'goal <= 0.6', figures);
  }
});
