import type { Builtin } from './builtin.js';

/** A web application with a database, run as a server. */
export const WEB_APP: Builtin = {
  slug: 'web-app',
  files: {
    'template.yaml': `name: Web app with server
description: A small web application on Node.js and SQLite, without dependencies, with tests, run on a URL of its own.
parameters:
  - { name: title, label: Name of the application, type: string, default: Tasks }
render: [README.md, public/index.html]
next_steps:
  - Start a server of server.mjs as README.md says
`,
    'README.md': `# {{ params.title }}

A list of tasks. \`server.mjs\` serves \`public/\` and the API; the data is in \`data/tasks.db\` (SQLite).

\`\`\`sh
api() { curl -s -X "$1" "$BASE$2" -H "X-API-Key: $KEY" -H 'Content-Type: application/json' -d "$3"; }

api POST /api/tunnels "{\\"workspace_id\\": \\"$WORKSPACE\\", \\"name\\": \\"{{ params.title }}\\", \\"command\\": \\"node server.mjs\\"}"
\`\`\`

The answer has its URL, which only members see until you open it. \`node --test\` runs the tests.

- \`server.mjs\`: routes
- \`tasks.mjs\`: what is stored
- \`public/\`: the page
- \`test/\`: tests of both
`,
    'AGENTS.md': `# How to work here

- No dependencies: Node.js has HTTP, SQLite and a test runner.
- Run \`node --test\` before and after a change. A new route gets a test.
- Input is checked in \`server.mjs\`; \`tasks.mjs\` takes what is valid. Queries have placeholders, never text put together.
- The server listens on \`$PORT\` and is restarted at any time: what matters is in the database.
`,
    'tasks.mjs': `import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';

export class Tasks {
  constructor(file) {
    if (file !== ':memory:') mkdirSync(path.dirname(file), { recursive: true });
    this.database = new DatabaseSync(file);
    this.database.exec(\`
      pragma journal_mode = wal;
      create table if not exists task (
        id integer primary key,
        title text not null,
        done integer not null default 0,
        created_at text not null default (datetime('now'))
      )\`);
  }

  list() {
    return this.database.prepare('select * from task order by done, id desc').all().map(shown);
  }

  add(title) {
    return shown(this.database.prepare('insert into task (title) values (?) returning *').get(title));
  }

  /** Nothing where there is no such task. */
  setDone(id, done) {
    const row = this.database.prepare('update task set done = ? where id = ? returning *').get(done ? 1 : 0, id);
    return row && shown(row);
  }

  remove(id) {
    return this.database.prepare('delete from task where id = ?').run(id).changes > 0;
  }
}

const shown = ({ id, title, done, created_at }) => ({ id, title, done: done === 1, created_at });
`,
    'server.mjs': `import { createReadStream } from 'node:fs';
import http from 'node:http';
import { Tasks } from './tasks.mjs';

const PAGES = {
  '/': ['index.html', 'text/html; charset=utf-8'],
  '/app.js': ['app.js', 'text/javascript; charset=utf-8'],
  '/style.css': ['style.css', 'text/css; charset=utf-8'],
};
const MAX_BYTES = 10_000;

class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function bodyOf(request) {
  let text = '';
  for await (const chunk of request) {
    text += chunk;
    if (text.length > MAX_BYTES) throw new Refusal(413, 'The body is too large');
  }
  try {
    return JSON.parse(text) ?? {};
  } catch {
    throw new Refusal(400, 'The body must be JSON');
  }
}

async function answer(tasks, request) {
  const [, id] = request.url.match(/^\\/api\\/tasks\\/(\\d{1,15})$/) ?? [];
  if (request.url === '/api/tasks' && request.method === 'GET') return tasks.list();
  if (request.url === '/api/tasks' && request.method === 'POST') {
    const { title } = await bodyOf(request);
    if (typeof title !== 'string' || !title.trim() || title.length > 200)
      throw new Refusal(422, 'title must be a text of 1 to 200 characters');
    return tasks.add(title.trim());
  }
  if (id && request.method === 'PATCH') {
    const { done } = await bodyOf(request);
    if (typeof done !== 'boolean') throw new Refusal(422, 'done must be true or false');
    const task = tasks.setDone(Number(id), done);
    if (task) return task;
  }
  if (id && request.method === 'DELETE' && tasks.remove(Number(id))) return { id: Number(id) };
  throw new Refusal(404, 'Nothing is here');
}

export const makeServer = tasks =>
  http.createServer(async (request, response) => {
    const [file, type] = PAGES[request.url] ?? [];
    if (file) {
      response.setHeader('content-type', type);
      return createReadStream(new URL(\`public/\${file}\`, import.meta.url)).pipe(response);
    }
    let [status, body] = [200, undefined];
    try {
      body = await answer(tasks, request);
    } catch (error) {
      if (!(error instanceof Refusal)) console.error(error);
      status = error instanceof Refusal ? error.status : 500;
      body = { detail: error instanceof Refusal ? error.message : 'Something went wrong' };
    }
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });

if (import.meta.main)
  makeServer(new Tasks('data/tasks.db')).listen(process.env.PORT, () => console.log('ready'));
`,
    'public/index.html': `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>{{ params.title }}</title>
    <link rel="stylesheet" href="/style.css">
    <script src="/app.js" defer></script>
  </head>
  <body>
    <h1>{{ params.title }}</h1>
    <form id="form">
      <label for="title">New task</label>
      <input id="title" required maxlength="200" autocomplete="off">
      <button>Add</button>
    </form>
    <p id="problem" role="alert"></p>
    <ul id="tasks"></ul>
  </body>
</html>
`,
    'public/style.css': `:root { color-scheme: light dark; font: 1.1rem/1.6 system-ui, sans-serif; }
body { max-width: 36rem; margin: 8vh auto; padding: 0 1rem; }
form { display: grid; grid-template-columns: 1fr auto; gap: 0.3rem 0.6rem; }
label[for='title'] { grid-column: 1 / -1; }
input, button { font: inherit; padding: 0.3rem 0.6rem; }
#tasks { list-style: none; padding: 0; }
#tasks li { display: flex; gap: 0.6rem; align-items: center; padding: 0.3rem 0; }
#tasks span { flex: 1; overflow-wrap: anywhere; }
.done span { text-decoration: line-through; opacity: 0.6; }
`,
    'public/app.js': `const [form, field, list, problem] = ['form', 'title', 'tasks', 'problem'].map(id => document.getElementById(id));

async function call(method, path, body) {
  const response = await fetch(path, { method, body: body && JSON.stringify(body) });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.detail);
  return answer;
}

/** Does something, shows the list, or why it failed. */
async function act(work) {
  try {
    await work?.();
    list.replaceChildren(...(await call('GET', '/api/tasks')).map(item));
    problem.textContent = '';
  } catch (error) {
    problem.textContent = error.message;
  }
}

function item({ id, title, done }) {
  const [row, box, text, remove] = ['li', 'input', 'span', 'button'].map(name => document.createElement(name));
  row.className = done ? 'done' : '';
  Object.assign(box, { type: 'checkbox', checked: done, ariaLabel: title });
  text.textContent = title;
  remove.textContent = 'Delete';
  box.onchange = () => act(() => call('PATCH', \`/api/tasks/\${id}\`, { done: box.checked }));
  remove.onclick = () => act(() => call('DELETE', \`/api/tasks/\${id}\`));
  row.append(box, text, remove);
  return row;
}

form.onsubmit = event => {
  event.preventDefault();
  act(async () => {
    await call('POST', '/api/tasks', { title: field.value });
    field.value = '';
  });
};
act();
`,
    'test/server.test.mjs': `import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { makeServer } from '../server.mjs';
import { Tasks } from '../tasks.mjs';

const server = makeServer(new Tasks(':memory:'));
before(() => once(server.listen(0), 'listening'));
after(() => server.close());

const call = async (method, path, body) => {
  const url = \`http://127.0.0.1:\${server.address().port}\${path}\`;
  const response = await fetch(url, { method, body: body && JSON.stringify(body) });
  return [response.status, await response.json()];
};

test('a task is added, done and deleted', async () => {
  const [, { id }] = await call('POST', '/api/tasks', { title: 'Write a test' });
  assert.equal((await call('PATCH', \`/api/tasks/\${id}\`, { done: true }))[1].done, true);
  assert.deepEqual((await call('DELETE', \`/api/tasks/\${id}\`))[0], 200);
  assert.deepEqual(await call('GET', '/api/tasks'), [200, []]);
});

test('what is wrong is refused', async () => {
  assert.equal((await call('POST', '/api/tasks', { title: ' ' }))[0], 422);
  assert.equal((await call('PATCH', '/api/tasks/99', { done: true }))[0], 404);
  assert.equal((await call('GET', '/api/nothing'))[0], 404);
});
`,
  },
};
