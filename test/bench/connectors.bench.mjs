/**
 * A call of a connector's tool (state, role, input against the pinned schema, credential, pin, frame) against the
 * SDK's client alone, both to the SDK's server on this machine, one call after the other.
 */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { ConnectorCalls } from '../../dist/src/connections/connectors/index.js';
import { Config } from '../../dist/src/platform/config/index.js';
import { createLog } from '../../dist/src/platform/log/index.js';
import { createServer } from '../../dist/src/server.js';
import { bench, compare, database, freePort, onEnd, postJson, report, serve } from './lib.mjs';

const CALLS = 200;
const INPUT = { text: 'x'.repeat(100) };

async function putJson(url, headers, body) {
  const response = await fetch(url, {
    method: 'PUT',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
  return response.json();
}

/** Milliseconds a call. */
async function timed(call) {
  for (let count = 0; count < CALLS / 10; count++) await call();
  const begun = performance.now();
  for (let count = 0; count < CALLS; count++) await call();
  return (performance.now() - begun) / CALLS;
}

await bench(async () => {
  const remote = await serve(['test/bench/floors/sdk-server.mjs']);
  const { DATA_DIR, DATABASE_URL } = await database();
  const { readFileSync } = await import('node:fs');
  const { api_key, organization_id, workspace_id } = JSON.parse(
    readFileSync(`${DATA_DIR}/credentials.json`, 'utf8'),
  );
  const PORT = String(await freePort());
  const config = Config.from({
    DATABASE_URL,
    DATA_DIR,
    PORT,
    HOST: '127.0.0.1',
    LOG_LEVEL: 'error',
    RATE_LIMITS_PER_MINUTE: 'credential=0',
    OUTGOING_PRIVATE_HOSTS: new URL(remote.url).host,
  });
  const app = await createServer({
    config,
    log: createLog(config),
    database: { connectionString: DATABASE_URL },
  });
  await app.listen(config.port, '127.0.0.1');
  onEnd(() => app.close());
  const url = `http://127.0.0.1:${PORT}`;
  const key = { 'x-api-key': api_key };
  const me = await (await fetch(`${url}/api/auth/me`, { headers: key })).json();
  const credential = {
    type: 'api_key',
    id: me.id,
    scopes: null,
    expires_at: null,
    organization_id: null,
    workspace_ids: null,
  };
  const actor = { type: 'user', id: me.id, name: 'Bench', email: null, credential };
  const calls = app.get(ConnectorCalls, { strict: false });
  const connect = async more => {
    const name = `Bench ${more.auth}`;
    const connector = await postJson(`${url}/api/connectors`, key, {
      organization_id,
      owner: 'organization',
      name,
      url: remote.url,
      ...more,
    });
    const at = `${url}/api/connectors/${connector.id}`;
    await postJson(`${at}/test`, key, {});
    const { items } = await (await fetch(`${at}/tools`, { headers: key })).json();
    await putJson(`${at}/tools`, key, {
      approve: items.map(({ name: tool, hash }) => ({ name: tool, hash })),
    });
    await putJson(`${at}/workspaces`, key, { grants: [{ workspace_id }] });
    const callName = `mcp__${connector.slug}__tool_1`;
    return async () => {
      const found = await calls.require(actor, workspace_id, callName);
      const call = { actor, workspaceId: workspace_id, callName, input: INPUT };
      const { isError } = await calls.call(found, call, { signal: new AbortController().signal });
      if (isError) throw new Error('the tool failed');
    };
  };
  const client = new Client({ name: 'bench', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  await client.connect(new StreamableHTTPClientTransport(new URL(remote.url)));
  onEnd(() => client.close());
  const floor = () => timed(() => client.callTool({ name: 'tool_1', arguments: INPUT }));
  for (const more of [{ auth: 'none' }, { auth: 'bearer', token: 'sample' }]) {
    const call = await connect(more);
    const { ours, floor: alone } = await compare(5, () => timed(call), floor);
    report(
      `connector call (auth ${more.auth}), ms more`,
      ours - alone,
      '<= 1.5 ms',
      `${ours.toFixed(2)} ms, the SDK's client alone ${alone.toFixed(2)} ms`,
    );
  }
});
