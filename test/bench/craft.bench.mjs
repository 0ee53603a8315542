/**
 * Everyday work on small repositories, by the agents of the service: each task once with all tools, and once with `bash` alone. A script
 * stands in for the model (`craft/policy.mjs`), and does in both what a strong one would. Prints what each took, and fails where a
 * task does not come to its end or leaves the wrong files.
 *
 *   npm run bench -- craft [word …]              tasks whose name has one of the words
 *   CRAFT_MODEL=qwen3 OPENAI_COMPATIBLE_BASE_URL=http://127.0.0.1:11434/v1 npm run bench -- craft
 *                                                a real model in its place; OPENAI_COMPATIBLE_API_KEY is sent along
 *   CRAFT_LOG=folder                             keeps a transcript of each run, as Markdown
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { CraftModel } from './craft/model.mjs';
import data from './craft/tasks/data.mjs';
import editing from './craft/tasks/editing.mjs';
import fixing from './craft/tasks/fixing.mjs';
import running from './craft/tasks/running.mjs';
import { transcript } from './craft/transcript.mjs';
import { atelier, bench, onEnd, postJson, report } from './lib.mjs';

const { CRAFT_MODEL, CRAFT_LOG, OPENAI_COMPATIBLE_BASE_URL, OPENAI_COMPATIBLE_API_KEY } = process.env;
const words = process.argv.slice(2);
const tasks = [...fixing, ...editing, ...data, ...running].filter(
  ({ name }) => words.length === 0 || words.some(word => name.includes(word)),
);

/** An agent that has nothing but a shell. */
const SHELL_AGENT = `---
description: Works with bash alone
tools: [bash]
---

You are the assistant of an Atelier workspace, which people and agents share. Do the work that is asked for, see it through: change
the files, check what you did, and only then answer.
`;
const COMMIT =
  '[ -d .git ] || git init -q; git add -A; git -c user.name=Ada -c user.email=ada@example.com commit -qm Start || true';

const upstream = CRAFT_MODEL && {
  baseUrl: OPENAI_COMPATIBLE_BASE_URL,
  model: CRAFT_MODEL,
  key: OPENAI_COMPATIBLE_API_KEY,
};

/** One workspace, by HTTP. */
class Place {
  constructor(service, id) {
    this.service = service;
    this.id = id;
  }

  static async make(service, { name, files, prepare }, way) {
    const { id } = await service.post('/api/workspaces', { name });
    const place = new Place(service, id);
    const agent = way === 'shell' ? { '.agents/shell.md': SHELL_AGENT } : {};
    for (const [at, content] of Object.entries({ ...files, ...agent }))
      await service.put(`/api/workspaces/${id}/files/content`, { path: at, content });
    await place.script(`${prepare}\n${COMMIT}`, 'prepare');
    return place;
  }

  async script(command, what) {
    const result = await this.service.post(`/api/workspaces/${this.id}/tools/bash`, {
      input: { command, timeout_seconds: 300 },
    });
    if (result.is_error) throw new Error(`${what}: ${result.output}`);
  }
}

async function run(model, service, task, way) {
  const place = await Place.make(service, task, way);
  const { model: name, meter, policy } = model.open(task, way);
  const start = performance.now();
  const sent = await service.post('/api/agent/message', {
    workspace_id: place.id,
    message: task.ask,
    model: name,
    budget: { max_steps: 60, max_seconds: 900 },
    ...(way === 'shell' ? { agent_name: 'shell' } : {}),
  });
  let status;
  do status = await service.get(`/api/agent/status/${sent.call_id}?wait=60`);
  while (!['completed', 'error'].includes(status.status));
  const ms = performance.now() - start;
  if (CRAFT_LOG) keep(`${task.name}.${way}.md`, transcript(task.ask, meter.log));
  let fault =
    status.status === 'error' || status.stop_reason !== 'end_turn'
      ? JSON.stringify(status).slice(0, 500)
      : undefined;
  if (status.result?.response?.startsWith('The policy failed')) fault = status.result.response;
  await place.script(task.check, 'check').catch(error => {
    fault ??= error.message;
  });
  return { meter, looks: policy.looks, ms, fault };
}

function keep(name, text) {
  mkdirSync(CRAFT_LOG, { recursive: true });
  writeFileSync(path.join(CRAFT_LOG, name), text);
}

const COLUMNS = ['calls', 'steps', 'tokens', 'cost', 'sent', 'bytes', 'ms'];
/** What fills the requests beside the conversation, and looks at changes by calls of their own. */
const MORE = ['prompt', 'tools', 'looks'];
const valuesOf = ({ meter, looks, ms }) => ({
  ...Object.fromEntries(
    [...COLUMNS.slice(0, -1), ...MORE.slice(0, 2)].map(column => [column, meter[column]]),
  ),
  looks,
  ms: Math.round(ms),
});
const row = (name, tools, shell) =>
  process.stdout.write(
    `${name.padEnd(24)}${COLUMNS.map(column => `${tools[column]} / ${shell[column]}`.padStart(18)).join('')}\n`,
  );

await bench(async () => {
  const model = new CraftModel(upstream);
  await model.start();
  onEnd(() => model.stop());
  const { url, credentials } = await atelier({
    OPENAI_COMPATIBLE_BASE_URL: model.url,
    OPENAI_COMPATIBLE_MODELS: 'craft',
    DEFAULT_MODEL: 'local/craft',
  });
  const headers = { 'x-api-key': credentials.api_key };
  const service = {
    post: (at, body) => postJson(url + at, headers, body),
    async send(at, method, body) {
      const response = await fetch(url + at, {
        method,
        headers: { ...headers, ...(body ? { 'content-type': 'application/json' } : {}) },
        body: body && JSON.stringify(body),
      });
      if (!response.ok) throw new Error(`${at} answered ${response.status}: ${await response.text()}`);
      return response.json();
    },
    put: (at, body) => service.send(at, 'PUT', body),
    get: at => service.send(at, 'GET'),
  };
  process.stdout.write(
    `${'all tools / bash alone'.padEnd(24)}${COLUMNS.map(name => name.padStart(18)).join('')}\n`,
  );
  const sums = { tools: {}, shell: {} };
  const faults = [];
  for (const task of tasks) {
    const results = {};
    for (const way of ['shell', 'tools']) {
      const result = await run(model, service, task, way);
      if (result.fault) faults.push(`${task.name}, ${way}: ${result.fault}`);
      results[way] = valuesOf(result);
      for (const column of [...COLUMNS, ...MORE])
        sums[way][column] = (sums[way][column] ?? 0) + results[way][column];
    }
    row(task.name, results.tools, results.shell);
  }
  row(`${tasks.length} tasks`, sums.tools, sums.shell);
  for (const fault of faults) process.stdout.write(`FAULT ${fault}\n`);
  if (faults.length > 0) process.exitCode = 1;
  const ratio = column => sums.tools[column] / sums.shell[column];
  report('calls of tools', ratio('calls'), 'goal < 1', `${sums.tools.calls} of ${sums.shell.calls}`);
  const scripted = sums.shell.calls - sums.shell.looks;
  report(
    '  where a script shows its change',
    sums.tools.calls / scripted,
    '',
    `${sums.tools.calls} of ${scripted}`,
  );
  report(
    'tokens, input new and output',
    ratio('tokens'),
    'goal <= 0.6',
    `${sums.tools.tokens} of ${sums.shell.tokens}`,
  );
  report('  cost, with the cache at 0.1', ratio('cost'), '', `${sums.tools.cost} of ${sums.shell.cost}`);
  report(
    '  input, each request in full',
    ratio('sent'),
    'goal <= 1',
    `${sums.tools.sent} of ${sums.shell.sent}`,
  );
  for (const way of ['tools', 'shell']) {
    const { steps, sent, prompt, tools } = sums[way];
    const each = tokens => Math.round(tokens / steps);
    process.stdout.write(
      `    a request of ${way}: ${each(prompt)} instructions, ${each(tools)} tools, ${each(sent - prompt - tools)} conversation\n`,
    );
  }
  report(
    'tasks done',
    (tasks.length * 2 - faults.length) / (tasks.length * 2),
    'goal = 1',
    `${faults.length} not`,
  );
});
