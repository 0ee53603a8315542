/**
 * MCP, authenticated and validated, against JSON-RPC written by hand and against the SDK's own server, neither of which asks
 * who calls; an action through REST; what it costs to check each kind of credential.
 */
import { readFileSync } from 'node:fs';
import { atelier, bench, compare, postJson, report, requestsPerSecond, serve } from './lib.mjs';

const REVISIONS = ['2025-11-25', '2026-07-28'];

function request(revision, method, params, headers = {}) {
  const isModern = revision === '2026-07-28';
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': revision,
    'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  return {
    headers: {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'mcp-protocol-version': revision,
      ...(isModern ? { 'mcp-method': method } : {}),
      ...(isModern && params.name ? { 'mcp-name': params.name } : {}),
      ...headers,
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method,
      params: isModern ? { ...params, _meta } : params,
    }),
  };
}

/** Processor time that a process has used so far, in microseconds (proc(5), clock ticks of 10 ms). */
function cpuOf(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

/** Requests a second, and what each costs the process that answers. */
async function measure({ url, child }, path, load) {
  const before = cpuOf(child.pid);
  let answered = 0;
  const perSecond = await requestsPerSecond(url + path, { ...load, onAnswer: () => answered++ });
  return { perSecond, cpu: (cpuOf(child.pid) - before) / answered };
}

/** An access token for the MCP endpoint, of a service account. */
async function oauthToken({ url, credentials: { organization_id } }, session) {
  const account = await postJson(`${url}/api/service-accounts`, session, {
    organization_id,
    name: 'Bench',
    role: 'member',
  });
  const { api_key } = await postJson(`${url}/api/service-accounts/${account.id}/keys`, session, {
    name: 'Bench',
  });
  const answer = await fetch(`${url}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: account.id,
      client_secret: api_key,
      scope: 'read',
    }),
  });
  return (await answer.json()).access_token;
}

await bench(async () => {
  const service = await atelier();
  const { api_key, email, password } = service.credentials;
  const byHand = await serve(['test/bench/floors/json-rpc.mjs']);
  const sdk = await serve(['test/bench/floors/sdk-server.mjs']);
  const key = { 'x-api-key': api_key };

  const ours = {
    'tools/list': {},
    'tools/call': { name: 'actions_describe', arguments: { name: 'file_read' } },
  };
  const theirs = { 'tools/list': {}, 'tools/call': { name: 'tool_1', arguments: { text: 'hello' } } };
  for (const revision of REVISIONS)
    for (const method of ['tools/list', 'tools/call']) {
      let cpu = 0;
      let floorCpu = 0;
      const load = request(revision, method, ours[method], key);
      const plain = request(revision, method, theirs[method]);
      const own = async () => {
        const measured = await measure(service, '/mcp', load);
        cpu = measured.cpu;
        return measured.perSecond;
      };
      const hand = await compare(3, own, async () => {
        const measured = await measure(byHand, '', plain);
        floorCpu = measured.cpu;
        return measured.perSecond;
      });
      report(
        `${method}, ${revision}`,
        hand.ours / hand.floor,
        'goal >= 0.2',
        `of JSON-RPC by hand: ${hand.ours | 0} of ${hand.floor | 0} requests/s, ${cpu | 0} us of CPU (goal <= 120), its ${floorCpu | 0}`,
      );
      const library = await compare(3, own, async () => {
        const measured = await measure(sdk, '', plain);
        floorCpu = measured.cpu;
        return measured.perSecond;
      });
      report(
        '',
        library.ours / library.floor,
        'goal >= 5',
        `of the SDK's server: ${library.floor | 0} requests/s, its ${floorCpu | 0} us of CPU`,
      );
    }

  const run = (headers, body = { input: {} }) => ({
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  const action = await measure(service, '/api/actions/workspace_list/run', run(key));
  report(
    'an action through REST',
    action.perSecond / 1000,
    'thousands/s',
    `${action.cpu | 0} us of CPU, with its record`,
  );
  const tool = request('2026-07-28', 'tools/call', { name: 'list_workspaces', arguments: {} }, key);
  const called = await measure(service, '/mcp', tool);
  report(
    'the same through MCP',
    called.perSecond / action.perSecond,
    'of REST',
    `${called.cpu | 0} us of CPU`,
  );

  const { access_token } = await postJson(`${service.url}/api/auth/login`, {}, { email, password });
  const session = { authorization: `Bearer ${access_token}` };
  for (const [name, headers] of [
    ['API key', key],
    ['token of a session', session],
    ['OAuth token', { authorization: `Bearer ${await oauthToken(service, session)}` }],
  ]) {
    const list = request('2026-07-28', 'tools/list', {}, headers);
    const { perSecond, cpu } = await measure(service, '/mcp', list);
    report(`tools/list by ${name}`, perSecond / 1000, 'thousands/s', `${cpu | 0} us of CPU`);
  }
});
