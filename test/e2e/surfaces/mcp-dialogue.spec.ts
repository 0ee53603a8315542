import { existsSync } from 'node:fs';
import { watch } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  Client as NextClient,
  StreamableHTTPClientTransport as NextTransport,
} from '@modelcontextprotocol/client';
import { Client as FirstClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as FirstTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema, ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Config } from '../../../src/platform/config/index.js';
import { createLog } from '../../../src/platform/log/index.js';
import { type Topic, Topics } from '../../../src/platform/topics/index.js';
import { createServer } from '../../../src/server.js';
import { McpSessionsStore } from '../../../src/surfaces/mcp/sessions/sessions.store.js';
import { WorkspaceFolders } from '../../../src/workspaces/core/index.js';
import { Browser, type Visit } from '../../harness/browser.js';
import type { Client, Json } from '../../harness/client.js';
import { startOAuthService } from '../../harness/oauth.js';
import type { Person, TestService } from '../../harness/service.js';

const INFO = { name: 'Desk Assistant', version: '1.0.0' };
const BOTH = 'application/json, text/event-stream';

let service: TestService;
/** Another process on the same database and files. */
let other: { app: NestFastifyApplication; url: string };
let ada: Person;
let bob: Person;
let workspace: string;

beforeAll(async () => {
  service = await startOAuthService();
  ada = await service.person('Ada');
  bob = await service.person('Bob');
  workspace = await service.workspace(ada);
  const environment = {
    PUBLIC_URL: service.url,
    DATABASE_URL: service.database.url,
    DATA_DIR: service.dataDir,
    LOG_LEVEL: 'error',
    DRAIN_SECONDS: '0',
    RATE_LIMITS_PER_MINUTE: 'credential=0,anonymous=0',
  };
  const config = Config.from(environment);
  const database = { connectionString: service.database.url };
  const app = await createServer({ config, log: createLog(config), database });
  await app.listen(0, '127.0.0.1');
  other = { app, url: await app.getUrl() };
});
afterAll(async () => {
  await other?.app.close();
  await service?.stop();
});

const put = (path: string, content = 'x') =>
  ada.client.put(`/api/workspaces/${workspace}/files/content`, { path, content });
const isThere = async (path: string) =>
  (await ada.client.get(`/api/workspaces/${workspace}/files/stat?path=${path}`)).status === 200;
const removal = (path: string) => ({
  name: 'actions_write',
  arguments: { name: 'file_delete', workspace_id: workspace, input: { path } },
});

interface Connected {
  /** What the person was asked so far. */
  readonly asked: Json[];
  call(what: { name: string; arguments: Json }): Promise<Json>;
  close(): Promise<void>;
}
type Reply = (question: Json) => Json | Promise<Json>;
type Open = (headers: Record<string, string>, capabilities: Json, reply: Reply) => Promise<Connected>;

const first: Open = async (headers, capabilities, reply) => {
  const asked: Json[] = [];
  const client = new FirstClient(INFO, { capabilities });
  if (capabilities.elicitation)
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
      asked.push(params);
      return reply(params);
    });
  await client.connect(
    new FirstTransport(new URL(`${service.url}/mcp`), { requestInit: { headers } }) as Json,
  );
  return { asked, call: what => client.callTool(what), close: () => client.close() };
};

const next =
  (revision: string): Open =>
  async (headers, capabilities, reply) => {
    const asked: Json[] = [];
    const isLegacy = revision < '2026';
    const client = new NextClient(INFO, {
      capabilities,
      versionNegotiation: { mode: isLegacy ? 'legacy' : { pin: revision } },
    });
    if (capabilities.elicitation)
      client.setRequestHandler('elicitation/create', async ({ params }: Json) => {
        asked.push(params);
        return reply(params);
      });
    await client.connect(new NextTransport(new URL(`${service.url}/mcp`), { requestInit: { headers } }));
    return { asked, call: what => client.callTool(what), close: () => client.close() };
  };

const CLIENTS: [string, Open][] = [
  ['the first SDK (2025-11-25)', first],
  ['the second SDK at 2025-11-25', next('2025-11-25')],
  ['the second SDK at 2026-07-28', next('2026-07-28')],
];

async function using<T>(
  open: Open,
  capabilities: Json,
  reply: Reply,
  work: (client: Connected) => Promise<T>,
  headers = ada.client.headers,
): Promise<T> {
  const client = await open(headers, capabilities, reply);
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

const neverAsked: Reply = () => {
  throw new Error('the person was asked in the client');
};
const textOf = ({ content }: Json): string => content[0].text;
const linkIn = (answer: Json): string => /http\S+\/approvals\/[\w-]+/.exec(textOf(answer))?.[0] ?? '';

/** A person in a browser, who has signed in at the page. */
async function atThePage(link: string, person: Person, browser = new Browser(service.url)) {
  const page = await browser.open(link);
  if (!page.html.includes('name="password"')) return { browser, page };
  const { email, password } = person;
  return { browser, page: await browser.submit(page, '/sign-in', { email, password }) };
}
const decide = (browser: Browser, page: Visit, decision: string) =>
  browser.submit(page, '/decide', { decision });

describe.each(CLIENTS)('what is destructive, by %s', (name, open) => {
  const named = (what: string) => `${what}-${name.replaceAll(/\W+/g, '-')}.txt`;
  const key = async () => (await service.key(ada, { name: 'Nightly' })).headers;

  it('is done once the person agrees in the client', async () => {
    await put(named('agreed'));
    const accept = () => ({ action: 'accept', content: { allow: true } });
    await using(open, { elicitation: {} }, accept, async client => {
      const answer = await client.call(removal(named('agreed')));
      expect(answer.structuredContent).toMatchObject({ status: 'completed' });
      expect(client.asked).toHaveLength(1);
      expect(client.asked[0].message).toMatch(/File delete\?.*can be put back from there/s);
      expect(client.asked[0].message).toContain(named('agreed'));
    });
    expect(await isThere(named('agreed'))).toBe(false);
  });

  it.each<[string, Json]>([
    ['declines', { action: 'decline' }],
    ['sends the form without the tick', { action: 'accept', content: { allow: false } }],
    ['closes the question', { action: 'cancel' }],
  ])('is not done where the person %s', async (how, said) => {
    const file = named(how.slice(0, 6));
    await put(file);
    await using(
      open,
      { elicitation: {} },
      () => said,
      async client => {
        const answer = await client.call(removal(file));
        expect(answer).toMatchObject({ isError: true });
        expect(textOf(answer)).toMatch(/said no|did not say/);
      },
    );
    expect(await isThere(file)).toBe(true);
  });

  it('is a link where the client cannot ask, and done once by the call that comes after', async () => {
    await put(named('linked'));
    await using(
      open,
      {},
      neverAsked,
      async client => {
        const asked = await client.call(removal(named('linked')));
        expect(asked.isError).toBe(true);
        expect(await client.call(removal(named('linked')))).toEqual(asked);
        const { browser, page } = await atThePage(linkIn(asked), ada);
        expect(page.html).toContain('The API key Nightly');
        expect((await decide(browser, page, 'allow')).html).toContain('You allowed it');
        // Another call is not what was allowed.
        expect(linkIn(await client.call(removal('something-else.txt')))).not.toBe(linkIn(asked));
        const done = await client.call(removal(named('linked')));
        expect(done.structuredContent).toMatchObject({ status: 'completed' });
        expect((await browser.open(linkIn(asked))).html).toContain('It is done');
        await put(named('linked'));
        expect(linkIn(await client.call(removal(named('linked'))))).not.toBe(linkIn(asked));
      },
      await key(),
    );
    expect(await isThere(named('linked'))).toBe(true);
  });

  it('is done by one of two calls that come at once', async () => {
    await put(named('raced'));
    await using(
      open,
      {},
      neverAsked,
      async client => {
        const { browser, page } = await atThePage(linkIn(await client.call(removal(named('raced')))), ada);
        await decide(browser, page, 'allow');
        const answers = await Promise.all([
          client.call(removal(named('raced'))),
          client.call(removal(named('raced'))),
        ]);
        expect(answers.filter(({ isError }) => !isError)).toHaveLength(1);
      },
      await key(),
    );
  });

  it('sends the person to the page where the client can only open one', async () => {
    await put(named('paged'));
    let pages = Promise.resolve();
    const reply: Reply = ({ mode, url }) => {
      expect(mode).toBe('url');
      pages = atThePage(url, ada).then(
        async ({ browser, page }) => void (await decide(browser, page, 'allow')),
      );
      return { action: 'accept' };
    };
    await using(open, { elicitation: { url: {} } }, reply, async client => {
      const answer = await client.call(removal(named('paged')));
      await pages;
      expect(answer.structuredContent).toMatchObject({ status: 'completed' });
    });
    expect(await isThere(named('paged'))).toBe(false);
  });
});

describe('the page on which a person decides', () => {
  const link = async (path: string) => {
    await put(path);
    return using(next('2026-07-28'), {}, neverAsked, async client =>
      linkIn(await client.call(removal(path))),
    );
  };
  const retry = (path: string) =>
    using(next('2026-07-28'), {}, neverAsked, client => client.call(removal(path)));

  it('shows exactly what is to be done, as text, in no frame and with no script', async () => {
    const path = '<img src=x onerror=alert(1)>.txt';
    const { page } = await atThePage(await link(path), ada);
    expect(page.html).not.toContain('<img');
    expect(page.html).toContain('&lt;img src=x onerror=alert(1)&gt;.txt');
    for (const shown of ['Delete a file or folder?', 'Desk Assistant', 'Research', 'file_delete', ada.email])
      expect(page.html).toContain(shown);
    expect(page.html).not.toContain('<script');
    expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect(page.headers.get('referrer-policy')).toBe('no-referrer');
    expect(page.headers.get('cache-control')).toBe('no-store');
  });

  it('says nothing to anybody else, and takes nothing from them', async () => {
    const place = { organization: ada.organizationId, role: 'member', workspace, workspaceRole: 'editor' };
    await service.join(bob, place);
    const address = await link('mine.txt');
    const unknown = `${service.url}/approvals/0192f3a1-7c1e-7d4a-9b7e-3f2a5c6d7e8f`;
    const { browser, page } = await atThePage(address, bob);
    expect(page.status).toBe(404);
    expect(page.html.replaceAll(new URL(address).pathname, '')).not.toContain('mine.txt');
    expect(page.html.replaceAll(/csrf" value="[^"]*"|\/approvals\/[\w-]+/g, '')).toBe(
      (await browser.open(unknown)).html.replaceAll(/csrf" value="[^"]*"|\/approvals\/[\w-]+/g, ''),
    );
    const rest = `/api/agent/approvals/${address.split('/').at(-1)}`;
    expect((await bob.client.post(rest, { decision: 'allow' })).status).toBe(404);
    const csrf = /name="csrf" value="([^"]+)"/.exec(page.html)?.[1] ?? '';
    const forced = await browser.send(`${address}/decide`, { csrf, decision: 'allow' });
    expect(forced.status).toBe(404);
    expect(linkIn(await retry('mine.txt'))).toBe(address);
  });

  it('takes a form from nowhere else, and from no other browser', async () => {
    const address = await link('forged.txt');
    const { browser, page } = await atThePage(address, ada);
    const csrf = /name="csrf" value="([^"]+)"/.exec(page.html)?.[1] ?? '';
    expect((await browser.send(`${address}/decide`, { decision: 'allow' })).status).toBe(403);
    const { browser: elsewhere } = await atThePage(address, ada);
    expect((await elsewhere.send(`${address}/decide`, { csrf, decision: 'allow' })).status).toBe(403);
    const another = await link('another.txt');
    expect((await browser.send(`${another}/decide`, { csrf, decision: 'allow' })).status).toBe(403);
    expect(linkIn(await retry('forged.txt'))).toBe(address);
  });

  it('is decided once', async () => {
    const address = await link('decided.txt');
    const { browser, page } = await atThePage(address, ada);
    expect((await decide(browser, page, 'deny')).html).toContain('You did not allow it');
    expect((await decide(browser, page, 'allow')).html).toContain('You did not allow it');
    expect(textOf(await retry('decided.txt'))).toMatch(/said no/);
    // It was told; whoever wants it after all is asked again.
    const asked = linkIn(await retry('decided.txt'));
    expect(asked).not.toBe(address);
    expect((await browser.open(address)).html).toContain('You did not allow it');
    expect((await browser.open(asked)).html).toContain('Allow once');
    expect(await isThere('decided.txt')).toBe(true);
  });

  it('is good for a quarter of an hour, for what is asked and for what is allowed', async () => {
    const late = (address: string) =>
      service.database.query(`update approval set expires_at = now() where id = $1`, [
        address.split('/').at(-1),
      ]);
    const asked = await link('late.txt');
    await late(asked);
    expect((await atThePage(asked, ada)).page).toMatchObject({ status: 410 });
    const again = linkIn(await retry('late.txt'));
    expect(again).not.toBe(asked);
    const { browser, page } = await atThePage(again, ada);
    await decide(browser, page, 'allow');
    await late(again);
    expect(linkIn(await retry('late.txt'))).not.toBe('');
    expect(await isThere('late.txt')).toBe(true);
  });

  it('asks for the password, and again once the sign-in was ended elsewhere', async () => {
    const address = await link('signed.txt');
    const browser = new Browser(service.url);
    const wrong = await browser.submit(await browser.open(address), '/sign-in', {
      email: ada.email,
      password: 'not it',
    });
    expect(wrong).toMatchObject({ status: 422 });
    expect(wrong.html).toContain('role="alert"');
    const { page } = await atThePage(address, ada, browser);
    expect(page.html).toContain('Allow once');
    await browser.submit(page, '/sign-out', {});
    expect((await browser.open(address)).html).toContain('name="password"');
  });

  it('of a service account is for those who manage it', async () => {
    const { body: account } = await ada.client.post('/api/service-accounts', {
      organization_id: ada.organizationId,
      name: 'Robot',
      role: 'member',
    });
    const { body } = await ada.client.post(`/api/service-accounts/${account.id}/keys`, { name: 'robot' });
    await put('robot.txt');
    const headers = { 'x-api-key': body.api_key };
    const asked = await using(next('2026-07-28'), {}, neverAsked, c => c.call(removal('robot.txt')), headers);
    expect((await atThePage(linkIn(asked), bob)).page.status).toBe(404);
    const { browser, page } = await atThePage(linkIn(asked), ada);
    expect(page.html).toContain('Robot');
    await decide(browser, page, 'allow');
    const done = await using(next('2026-07-28'), {}, neverAsked, c => c.call(removal('robot.txt')), headers);
    expect(done.isError ?? false).toBe(false);
  });
});

describe('what a client brings back', () => {
  const ask = (client: Client, params: Json) =>
    client.raw('POST', '/mcp', {
      headers: {
        accept: BOTH,
        'content-type': 'application/json',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': 'actions_write',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: {
          ...params,
          _meta: {
            'io.modelcontextprotocol/protocolVersion': '2026-07-28',
            'io.modelcontextprotocol/clientInfo': INFO,
            'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
          },
        },
      }),
    });

  it('is nothing in the hands of somebody else, and good for one call', async () => {
    await put('state.txt');
    const asked = (await (await ask(ada.client, removal('state.txt'))).json()) as Json;
    const { requestState } = asked.result;
    const inputResponses = { approval: { action: 'accept', content: { allow: true } } };
    const bringing = (path: string) => ({ ...removal(path), requestState, inputResponses });
    const stolen = (await (await ask(bob.client, bringing('state.txt'))).json()) as Json;
    expect(stolen.error).toMatchObject({ code: -32602 });
    // For another file it is an answer to another question.
    const moved = (await (await ask(ada.client, bringing('notes.txt'))).json()) as Json;
    expect(moved.result.resultType).not.toBe('complete');
    const done = (await (await ask(ada.client, bringing('state.txt'))).json()) as Json;
    expect(done.result).toMatchObject({ structuredContent: { status: 'completed' } });
    await put('state.txt');
    const again = (await (await ask(ada.client, bringing('state.txt'))).json()) as Json;
    expect(again.result.resultType).toBe('input_required');
    expect(await isThere('state.txt')).toBe(true);
  });
});

describe('a session', () => {
  const send = (url: string, headers: Record<string, string>, body: Json, method = 'POST') =>
    fetch(`${url}/mcp`, {
      method,
      headers: { accept: BOTH, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const begin = async (person: Person, capabilities: Json = {}) => {
    const params = { protocolVersion: '2025-11-25', capabilities, clientInfo: INFO };
    const answer = await send(service.url, person.client.headers, {
      jsonrpc: '2.0',
      id: 0,
      method: 'initialize',
      params,
    });
    await answer.json();
    const id = answer.headers.get('mcp-session-id') ?? '';
    return { ...person.client.headers, 'mcp-session-id': id, 'mcp-protocol-version': '2025-11-25' };
  };
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };

  it('is known to every process, to nobody else, and to none once it has ended', async () => {
    const session = await begin(ada);
    for (const { url } of [service, other]) expect((await send(url, session, ping)).status).toBe(200);
    const stolen = { ...session, ...bob.client.headers };
    for (const method of ['POST', 'GET', 'DELETE'])
      expect((await send(service.url, stolen, method === 'POST' ? ping : undefined, method)).status).toBe(
        404,
      );
    const told = new Promise<void>(resolve => {
      service.app.get(Topics, { strict: false }).subscribe('mcp-session-ended' as Topic, () => resolve());
    });
    expect((await send(other.url, session, undefined, 'DELETE')).status).toBe(204);
    await told;
    expect((await send(service.url, session, ping)).status).toBe(404);
    expect((await send(service.url, { ...session, 'mcp-session-id': 'made-up' }, ping)).status).toBe(404);
  });

  it('refuses a revision that is not spoken, and a client that would not understand the answer', async () => {
    const session = await begin(ada);
    const odd = { ...session, 'mcp-protocol-version': '2019-01-01' };
    expect((await send(service.url, odd, ping)).status).toBe(400);
    expect((await send(service.url, { ...session, accept: 'text/html;q=0' }, ping)).status).toBe(406);
  });

  it('is asked by one process, and answers another', async () => {
    await put('elsewhere.txt');
    const session = await begin(ada, { elicitation: {} });
    const call = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: removal('elsewhere.txt') };
    const answer = await send(service.url, session, call);
    const messages = frames(answer);
    const { value: question } = await messages.next();
    expect(question).toMatchObject({ method: 'elicitation/create', id: expect.any(String) });
    const said = { jsonrpc: '2.0', id: question?.id, result: { action: 'accept', content: { allow: true } } };
    // Somebody else's session cannot answer it.
    expect((await send(other.url, await begin(bob), { ...said, result: { action: 'decline' } })).status).toBe(
      202,
    );
    expect((await send(other.url, session, said)).status).toBe(202);
    const { value: result } = await messages.next();
    expect(result).toMatchObject({ id: 7, result: { structuredContent: { status: 'completed' } } });
  });

  it('takes a call back that another process works on', async () => {
    const session = await begin(ada);
    const command = 'touch begun; sleep 60; touch ended';
    const params = { name: 'bash', arguments: { workspace_id: workspace, command } };
    const begun = appearance('begun');
    const answer = send(service.url, session, { jsonrpc: '2.0', id: 'slow', method: 'tools/call', params });
    await begun;
    const cancelled = { method: 'notifications/cancelled', params: { requestId: 'slow' } };
    expect((await send(other.url, session, { jsonrpc: '2.0', ...cancelled })).status).toBe(202);
    expect((await answer).status).toBe(202);
    expect(await isThere('ended')).toBe(false);
  });

  it('keeps its calls when processes have everything looked at again', async () => {
    const session = await begin(ada);
    const params = { name: 'bash', arguments: { workspace_id: workspace, command: 'touch kept; sleep 1' } };
    const begun = appearance('kept');
    const answer = send(service.url, session, { jsonrpc: '2.0', id: 'kept', method: 'tools/call', params });
    await begun;
    other.app.get(Topics, { strict: false }).publishEverything();
    service.app.get(Topics, { strict: false }).publishEverything();
    expect((await answer).status).toBe(200);
  });

  it('is forgotten after a week without use', async () => {
    const session = await begin(ada);
    await service.database.query(`update mcp_session set seen_at = now() - interval '8 days' where id = $1`, [
      session['mcp-session-id'],
    ]);
    await service.app.get(McpSessionsStore, { strict: false }).deleteUnused();
    expect((await send(service.url, session, ping)).status).toBe(404);
  });
});

describe('a client that follows resources', () => {
  const uri = (path: string) => `atelier://workspace/${workspace}/${path}`;

  it('is told of changes by the stream of its session (2025-11-25), whichever process made them', async () => {
    const client = new FirstClient(INFO);
    const updated = new Queue<string>();
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => updated.add(params.uri));
    const transport = new FirstTransport(new URL(`${service.url}/mcp`), {
      requestInit: { headers: ada.client.headers },
    });
    await client.connect(transport as Json);
    try {
      await client.subscribeResource({ uri: uri('followed.md') });
      await client.subscribeResource({ uri: uri('passed-over.md') });
      await client.unsubscribeResource({ uri: uri('passed-over.md') });
      await put('passed-over.md');
      await fetch(`${other.url}/api/workspaces/${workspace}/files/content`, {
        method: 'PUT',
        headers: { ...ada.client.headers, 'content-type': 'application/json' },
        body: JSON.stringify({ path: 'followed.md', content: 'changed' }),
      });
      expect(await updated.next()).toBe(uri('followed.md'));
      await expect(
        client.subscribeResource({ uri: 'atelier://workspace/0192f3a1-7c1e-7d4a-9b7e-3f2a5c6d7e8f/a' }),
      ).rejects.toThrow('No such workspace');
    } finally {
      await client.close();
    }
  });

  it('is told by the answer to its request to listen (2026-07-28), of what it may see', async () => {
    const strange = await service.workspace(bob);
    const hidden = `atelier://workspace/${strange}/a.md`;
    const answer = await listen(ada.client, {
      resourceSubscriptions: [uri('heard.md'), hidden],
      promptsListChanged: true,
    });
    const messages = frames(answer);
    expect((await messages.next()).value).toMatchObject({
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: { resourceSubscriptions: [uri('heard.md')], promptsListChanged: true } },
    });
    await bob.client.put(`/api/workspaces/${strange}/files/content`, { path: 'a.md', content: 'x' });
    await put('.agents/poet.md', '---\ndescription: Rhymes\n---\nRhyme.');
    await put('heard.md');
    // The folder of the agents may be told of by itself.
    const told = new Set<string>();
    while (told.size < 2) {
      const { value } = await messages.next();
      told.add(`${value?.method} ${value?.params.uri ?? ''}`);
    }
    expect([...told].sort()).toEqual([
      'notifications/prompts/list_changed ',
      `notifications/resources/updated ${uri('heard.md')}`,
    ]);
    await answer.body?.cancel().catch(() => undefined);
  });

  it('is told of the end of a run', async () => {
    const { body: sent } = await ada.client.post('/api/agent/message', {
      workspace_id: workspace,
      message: 'run until [ -e heard-end ]; do sleep 0.1; done',
    });
    const run = `atelier://run/${sent.call_id}`;
    const answer = await listen(ada.client, { resourceSubscriptions: [run] });
    const messages = frames(answer);
    await messages.next();
    await put('heard-end');
    expect((await messages.next()).value).toMatchObject({
      method: 'notifications/resources/updated',
      params: { uri: run },
    });
    const { body } = await ada.client.get(`/api/agent/status/${sent.call_id}`);
    expect(body.status).not.toBe('pending');
    await answer.body?.cancel().catch(() => undefined);
  });

  it('hears nothing more once the workspace is not theirs to see', async () => {
    const shared = await service.workspace(ada, { name: 'Shared', visibility: 'restricted' });
    await service.join(bob, {
      organization: ada.organizationId,
      role: 'guest',
      workspace: shared,
      workspaceRole: 'viewer',
    });
    const followed = `atelier://workspace/${shared}/a.md`;
    const answer = await listen(bob.client, { resourceSubscriptions: [followed] });
    const messages = frames(answer);
    const write = (content: string) =>
      ada.client.put(`/api/workspaces/${shared}/files/content`, { path: 'a.md', content });
    await messages.next();
    await write('one');
    expect((await messages.next()).value).toMatchObject({ params: { uri: followed } });
    await ada.client.delete(`/api/workspaces/${shared}/members/${bob.id}`);
    await write('two');
    const refused = await listen(bob.client, { resourceSubscriptions: [followed] });
    const { value } = await frames(refused).next();
    expect(value?.params.notifications).toEqual({});
    await answer.body?.cancel().catch(() => undefined);
  });

  it('is told that lists are others, in however many workspaces, and when workspaces come, go or get another name', async () => {
    const member = await service.person('Carol');
    for (let n = 0; n < 25; n++) await service.workspace(member, { name: `Workspace ${n}` });
    const last = await service.workspace(member, { name: 'The last' });
    const answer = await listen(member.client, { resourcesListChanged: true, promptsListChanged: true });
    const messages = frames(answer);
    await messages.next();
    const next = async () => (await messages.next()).value?.method;
    const both = ['notifications/prompts/list_changed', 'notifications/resources/list_changed'];

    await member.client.put(`/api/workspaces/${last}/files/content`, { path: 'top.md', content: 'x' });
    expect(await next()).toBe('notifications/resources/list_changed');
    const added = await service.workspace(member, { name: 'New' });
    expect([await next(), await next()].sort()).toEqual(both);
    await member.client.patch(`/api/workspaces/${added}`, { name: 'Newer' });
    expect([await next(), await next()].sort()).toEqual(both);
    await member.client.put(`/api/workspaces/${added}/files/content`, { path: 'top.md', content: 'x' });
    expect(await next()).toBe('notifications/resources/list_changed');
    await member.client.delete(`/api/workspaces/${added}`);
    expect([await next(), await next()].sort()).toEqual(both);

    await fetch(`${other.url}/api/workspaces/${last}/files/content`, {
      method: 'PUT',
      headers: { ...member.client.headers, 'content-type': 'application/json' },
      body: JSON.stringify({ path: '.agents/poet.md', content: '---\ndescription: Rhymes\n---\nRhyme.' }),
    });
    // The folder of the agents is new at the top, too.
    while ((await next()) !== 'notifications/prompts/list_changed');
    await answer.body?.cancel().catch(() => undefined);
  });

  it('is told by the stream of its session when it is let into a workspace', async () => {
    const shared = await service.workspace(ada, { name: 'For guests', visibility: 'restricted' });
    const guest = await service.person('Dan');
    await service.join(guest, { organization: ada.organizationId, role: 'guest' });
    const session = await open(guest.client);
    const answer = await guest.client.raw('GET', '/mcp', {
      headers: { accept: 'text/event-stream', 'mcp-session-id': session },
    });
    const messages = frames(answer);
    await ada.client.put(`/api/workspaces/${shared}/members/${guest.id}`, { role: 'viewer' });
    const methods = [(await messages.next()).value?.method, (await messages.next()).value?.method];
    expect(methods.sort()).toEqual([
      'notifications/prompts/list_changed',
      'notifications/resources/list_changed',
    ]);
    await answer.body?.cancel().catch(() => undefined);
  });

  it('hears nothing more once its key is revoked', async () => {
    const { body: key } = await ada.client.post('/api/keys', { name: 'Short-lived' });
    const program = service.stranger.with({ 'x-api-key': key.api_key });
    const session = await open(program);
    const streams = [
      await listen(program, { resourceSubscriptions: [uri('heard.md')] }),
      await program.raw('GET', '/mcp', {
        headers: { accept: 'text/event-stream', 'mcp-session-id': session },
      }),
    ];
    expect(streams.map(({ status }) => status)).toEqual([200, 200]);
    await ada.client.delete(`/api/keys/${key.id}`);
    const told: Json[] = [];
    for (const stream of streams) for await (const message of frames(stream)) told.push(message);
    // The request to listen is acknowledged, and answered at last.
    const isOfProtocol = ({ method, result }: Json) =>
      result !== undefined || method === 'notifications/subscriptions/acknowledged';
    expect(told.every(isOfProtocol)).toBe(true);
  });

  /** Begins a session of 2025-11-25. */
  const open = async (client: Client): Promise<string> => {
    const welcome = await client.raw('POST', '/mcp', {
      headers: { accept: BOTH, 'content-type': 'application/json' },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 0,
        method: 'initialize',
        params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: INFO },
      }),
    });
    await welcome.json();
    return welcome.headers.get('mcp-session-id') ?? '';
  };
  const listen = (client: Client, notifications: Json) =>
    client.raw('POST', '/mcp', {
      headers: {
        accept: BOTH,
        'content-type': 'application/json',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'subscriptions/listen',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 'listening',
        method: 'subscriptions/listen',
        params: {
          notifications,
          _meta: {
            'io.modelcontextprotocol/protocolVersion': '2026-07-28',
            'io.modelcontextprotocol/clientInfo': INFO,
            'io.modelcontextprotocol/clientCapabilities': {},
          },
        },
      }),
    });
});

/** What arrives, in order, for one who waits. */
class Queue<T> {
  private readonly items: T[] = [];
  private waiting: ((item: T) => void) | undefined;

  add(item: T): void {
    if (this.waiting) this.waiting(item);
    else this.items.push(item);
    this.waiting = undefined;
  }

  next(): Promise<T> {
    const item = this.items.shift();
    return item === undefined ? new Promise(resolve => (this.waiting = resolve)) : Promise.resolve(item);
  }
}

/** The messages of a stream, as they come. */
async function* frames(answer: Response): AsyncGenerator<Json, undefined> {
  let text = '';
  const decoder = new TextDecoder();
  const reader = answer.body?.getReader();
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true };
    if (done) return undefined;
    text += decoder.decode(value, { stream: true });
    const parts = text.split('\n\n');
    text = parts.pop() ?? '';
    for (const part of parts) {
      const data = part.split('\n').find(line => line.startsWith('data: '));
      if (data) yield JSON.parse(data.slice('data: '.length));
    }
  }
}

/** Resolves when a file of the workspace is there, which the sandbox makes. */
async function appearance(name: string): Promise<void> {
  const folder = service.app.get(WorkspaceFolders, { strict: false }).pathOf({ id: workspace });
  const gone = new AbortController();
  const events = watch(folder, { signal: gone.signal });
  if (existsSync(path.join(folder, name))) return gone.abort();
  for await (const { filename } of events) if (filename === name) return;
}
