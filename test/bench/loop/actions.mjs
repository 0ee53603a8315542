/** Requests that go around the description of routes: each action and tool by its own schema, MCP, and large things that are there. */
import { hostileRequests } from '../../harness/hostile-requests.ts';

const DESTROYS = new Set(['destructive']);
const MODERN = '2026-07-28';
const _meta = {
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

export function* hostileActions(things, texts) {
  yield* ofActions(things, texts);
  yield* ofTools(things, texts);
  yield* ofMcp(things, texts);
  yield* ofLargeThings(things);
}

/** As if each action were a route whose body is its input. */
function* inputsOf(schema, minimal, ids, texts) {
  const document = {
    paths: {
      '/': {
        post: {
          requestBody: {
            content: { 'application/json': { schema, examples: { minimal: { value: minimal } } } },
          },
        },
      },
    },
    components: { schemas: schema.$defs ?? {} },
  };
  for (const { name, body } of hostileRequests(document, ids, texts, texts.HOSTILE_KINDS))
    if (name.includes(' as ')) yield { name, input: () => JSON.parse(body()) };
}

/** What is required, with the ids of things that are there. */
function sampleOf({ properties = {}, required = [] }, ids) {
  return Object.fromEntries(
    required.map(name => {
      const { type, enum: values, example, minimum } = properties[name];
      const value = ids[name] ?? values?.[0] ?? example;
      if (value !== undefined) return [name, value];
      return [name, [type].flat()[0] === 'integer' ? (minimum ?? 1) : 'notes/plan.md'];
    }),
  );
}

function* ofActions({ actions, ids }, texts) {
  for (const { name, effect, input_schema } of actions)
    for (const { name: what, input } of inputsOf(input_schema, sampleOf(input_schema, ids), ids, texts))
      yield post(`/api/actions/${name}/run`, what, () => ({
        input: input(),
        dry_run: DESTROYS.has(effect) || /password|transfer|leave|revoke/.test(name),
      }));
}

function* ofTools({ tools, workspace, ids }, texts) {
  for (const { name, input_schema } of tools)
    for (const { name: what, input } of inputsOf(input_schema, sampleOf(input_schema, {}), ids, texts))
      if (name !== 'bash')
        yield post(`/api/workspaces/${workspace}/tools/${name}`, what, () => ({ input: input() }));
}

function* ofMcp({ ids, workspace }, texts) {
  const { HOSTILE_KINDS, HOSTILE_OBJECTS, hostileText } = texts;
  const call = (method, what, params, more = () => ({})) => {
    const { name = '' } = params();
    return post(
      '/mcp',
      `${method} with ${what}`,
      () => ({ jsonrpc: '2.0', id: 1, method, params: { ...params(), _meta }, ...more() }),
      {
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': MODERN,
        'mcp-method': method,
        ...(name ? { 'mcp-name': name } : {}),
      },
    );
  };
  for (const [what, value] of Object.entries(HOSTILE_OBJECTS)) {
    yield call('tools/call', what, () => ({ name: 'read_file', arguments: value() }));
    yield call('tools/call', `${what} for an action`, () => ({
      name: 'actions_read',
      arguments: { name: 'file_list', input: value() },
    }));
    yield call('tools/list', `${what} as parameters`, value);
    yield call(
      'tools/list',
      `${what} as its id`,
      () => ({}),
      () => ({ id: value() }),
    );
    yield call('completion/complete', what, () => ({ ref: value(), argument: value() }));
    yield call('subscriptions/listen', what, () => ({ notifications: value() }));
  }
  for (const kind of HOSTILE_KINDS) {
    const text = hostileText(kind, 900_000);
    yield call('resources/read', kind, () => ({ uri: `atelier://${text}` }));
    yield call('resources/read', `${kind} in a path`, () => ({
      uri: `atelier://workspaces/${workspace}/files/${text}`,
    }));
    yield call('prompts/get', kind, () => ({ name: 'x', arguments: { a: text } }));
    yield call('completion/complete', kind, () => ({
      ref: { type: 'ref/resource', uri: `atelier://workspaces/{workspace}/files/{+path}${text}` },
      argument: { name: 'path', value: text },
    }));
    yield call('tools/call', `${kind} as a question`, () => ({
      name: 'actions_search',
      arguments: { query: hostileText(kind, 500) },
    }));
    yield call('tools/call', `${kind} as a path`, () => ({
      name: 'read_file',
      arguments: { workspace_id: workspace, path: hostileText(kind, 4096) },
    }));
  }
  yield call('tools/call', 'a large file', () => ({
    name: 'read_file',
    arguments: { workspace_id: workspace, path: 'large.txt' },
  }));
  yield call('tools/call', 'a large folder', () => ({
    name: 'list_files',
    arguments: { workspace_id: workspace, path: 'many', limit: 200 },
  }));
  yield call('tools/call', 'a run', () => ({ name: 'run_status', arguments: { call_id: ids.callId } }));
  yield post('/mcp', 'a list of many calls', () =>
    Array.from({ length: 20_000 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'tools/list' })),
  );
}

/** What is large is not the request, but what it asks for. */
function* ofLargeThings({ workspace, versions: [newest, oldest] }) {
  const files = `/api/workspaces/${workspace}/files`;
  const get = (address, name) => ({
    route: `GET ${address.split('?')[0]}`,
    name,
    method: 'GET',
    path: address,
    headers: {},
  });
  for (const name of ['large.txt', 'one-line.txt', 'pairs.txt', 'short-lines.txt', 'wide.txt']) {
    yield get(`${files}/content?path=${name}`, name);
    yield get(`${files}/content?path=${name}&start_line=140000`, `the end of ${name}`);
    yield get(`${files}/download?path=${name}`, name);
    for (const [part, by] of [
      ['a', 'bb'],
      ['a', 'b'],
      ['b', ''],
      ['\n', '\r\n'],
      ['ab', 'ba'],
      ['é', 'e'],
      ['a'.repeat(900_000), 'b'],
      [`${'a'.repeat(400_000)}b`, 'b'],
      [`b${'a'.repeat(400_000)}`, 'b'],
      ['aab', 'b'],
    ])
      for (const replace_all of [true, false])
        yield post(
          `${files}/edit`,
          `${part.slice(0, 5)} of ${part.length} in ${name}, ${replace_all}`,
          () => ({
            path: name,
            old_text: part,
            new_text: by,
            replace_all,
          }),
        );
  }
  yield get(`${files}?path=many&limit=200`, 'a large folder');
  yield get(`${files}?recursive=true&limit=200`, 'all files');
  yield get(`${files}/download?path=many`, 'a large folder');
  yield get(`${files}/history?limit=200`, 'all versions');
  yield get(`${files}/history/${newest}/diff?against=${oldest}`, 'versions without a common line');
  yield get(`${files}/history/${newest}`, 'a large version');
  for (const query of [
    'q=a',
    'q=%0A',
    'regex=true&q=(a%7Caa)%2B!',
    'in=names&q=a',
    `glob=${'**/'.repeat(1000)}x&q=a`,
  ])
    yield get(`/api/workspaces/${workspace}/search?limit=200&${query}`, query.slice(0, 40));
  yield post(`${files}/copy`, 'a large folder', () => ({ from: 'many', to: 'copied', overwrite: true }));
  yield post(`${files}/move`, 'a large folder', () => ({ from: 'copied', to: 'moved', overwrite: true }));
  yield {
    ...get(`${files}?path=moved&recursive=true`, 'a large folder'),
    method: 'DELETE',
    route: `DELETE ${files}`,
  };
}

const post = (address, name, value, headers = {}) => ({
  route: `POST ${address}`,
  name,
  method: 'POST',
  path: address,
  headers: { 'content-type': 'application/json', ...headers },
  body: () => JSON.stringify(value()),
});
