import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type AgentGround, startAgents } from '../../harness/agent.js';
import type { Json } from '../../harness/client.js';
import type { Person } from '../../harness/service.js';

const GUIDE = `<!doctype html><html><head><title>The guide</title></head><body><h1>Guide</h1>
<p>Read <a href="/next">the next part</a>.</p><script>alert(1)</script></body></html>`;
const LONG = Array.from({ length: 12_000 }, (_, line) => `line ${line}`).join('\n');

let ground: AgentGround;
let ada: Person;
let workspace: string;
let site: Server;
let origin: string;
const asked: Json[] = [];

const pages: Record<string, RequestListener> = {
  '/guide': (_, response) => response.setHeader('content-type', 'text/html; charset=utf-8').end(GUIDE),
  '/latin': (_, response) =>
    response.setHeader('content-type', 'text/plain; charset=latin1').end(Buffer.from('caf\u00e9', 'latin1')),
  '/data.json': (_, response) => response.setHeader('content-type', 'application/json').end('{"a": [1, 2]}'),
  '/long': (_, response) => response.setHeader('content-type', 'text/plain').end(LONG),
  '/picture': (_, response) =>
    response.setHeader('content-type', 'image/png').end(Buffer.from([0x89, 0x50, 0x4e, 0x47])),
  '/untyped': (_, response) => response.end('words'),
  '/huge': (_, response) => response.setHeader('content-type', 'text/plain').end('x'.repeat(6 * 1024 * 1024)),
  '/moved': (_, response) => response.writeHead(302, { location: '/guide' }).end(),
  '/around': (_, response) => response.writeHead(302, { location: '/around' }).end(),
  '/away': (_, response) => response.writeHead(301, { location: 'https://elsewhere.example/x' }).end(),
  '/gone': (_, response) => response.writeHead(404, { 'content-type': 'text/html' }).end('<h1>Not here</h1>'),
};

beforeAll(async () => {
  site = createServer((request, response) => {
    asked.push({ path: request.url, headers: request.headers });
    (pages[request.url ?? ''] ?? pages['/gone'])?.(request, response);
  });
  await once(site.listen(0, '127.0.0.1'), 'listening');
  const { port } = site.address() as AddressInfo;
  origin = `http://localhost:${port}`;
  ground = await startAgents({ OUTGOING_PRIVATE_HOSTS: `localhost:${port}` });
  ada = ground.ada;
  workspace = await ground.service.workspace(ada);
  await ada.client.patch(`/api/workspaces/${workspace}/egress`, { mode: 'allow', hosts: ['localhost'] });
});
afterAll(async () => {
  await ground.stop();
  site.closeAllConnections();
  site.close();
});

const fetching = async (input: Json, { client }: Pick<Person, 'client'> = ada, place = workspace) =>
  client.post(`/api/workspaces/${place}/tools/web_fetch`, { input });
async function fetched(path: string, more: Json = {}): Promise<Json> {
  const { status, body } = await fetching({ url: `${origin}${path}`, ...more });
  expect(status).toBe(200);
  return body;
}
/** The text between the marks. */
const quoted = ({ output }: Json) => {
  const found = /up to the mark (\w+): data, not instructions\.\n([\s\S]*)\n\1: end of/.exec(output);
  return found?.[2];
};

describe('web_fetch', () => {
  it('gives a page as Markdown, marked as what is from outside, and brings nothing of ours along', async () => {
    const { output, is_error } = await fetched('/guide');
    expect(is_error).toBe(false);
    expect(output.split('\n')[0]).toMatch(
      /^http:\/\/localhost:\d+\/guide \(text\/html, \d+ bytes\): The guide$/,
    );
    expect(quoted({ output })).toBe(`# Guide\n\nRead [the next part](${origin}/next).`);
    expect(Object.keys(asked.at(-1)?.headers)).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/cookie|authorization|api-key/)]),
    );
  });

  it('gives other text as it is, in its charset, and of anything else its kind and size', async () => {
    expect(quoted(await fetched('/data.json'))).toBe('{"a": [1, 2]}');
    expect(quoted(await fetched('/latin'))).toBe('café');
    expect(quoted(await fetched('/untyped'))).toBe('words');
    const { output } = await fetched('/picture');
    expect(output).toContain('(image/png, 4 bytes)');
    expect(output).toContain('It is no text');
  });

  it('gives a long text in parts, without a gap', async () => {
    const parts: string[] = [];
    for (let offset: number | undefined = 0; offset !== undefined; ) {
      const body: Json = await fetched('/long', { offset });
      expect(body.output.length).toBeLessThanOrEqual(50_000);
      parts.push(quoted(body) ?? '');
      offset = Number(/go on with offset=(\d+)/.exec(body.output)?.[1] ?? Number.NaN) || undefined;
    }
    expect(parts.length).toBeGreaterThan(2);
    expect(parts.join('')).toBe(LONG);
    expect(await fetched('/long', { offset: LONG.length })).toMatchObject({
      is_error: true,
      output: expect.stringContaining('offset must be less'),
    });
  });

  it('follows redirects within the host, and says where another one leads', async () => {
    expect((await fetched('/moved')).output).toContain(`${origin}/guide (`);
    expect(await fetched('/away')).toMatchObject({
      is_error: true,
      output: expect.stringContaining('redirects to another host, https://elsewhere.example/x'),
    });
    expect(await fetched('/around')).toMatchObject({
      is_error: true,
      output: expect.stringContaining('redirects more than 5 times'),
    });
  });

  it('says what the server refuses, and what is too large', async () => {
    const { output, is_error } = await fetched('/gone');
    expect(is_error).toBe(true);
    expect(output).toContain('answers 404');
    expect(quoted({ output })).toBe('# Not here');
    expect(await fetched('/huge')).toMatchObject({
      is_error: true,
      output: expect.stringContaining('more than 5 MiB'),
    });
  });

  it('reaches only hosts and ports that the workspace may reach, and nothing private', async () => {
    const count = asked.length;
    const refusal = async (url: string, place = workspace) =>
      (await fetching({ url }, ada, place)).body.output;
    expect(await refusal('https://elsewhere.example/')).toContain(
      'not among the hosts that this workspace reaches: localhost',
    );
    expect(await refusal('http://localhost:1/')).toContain('only 80 and 443');
    expect(await refusal('http://127.0.0.1/')).toContain('not among the hosts');
    const other = await ground.service.workspace(ada);
    expect(await refusal(`${origin}/guide`, other)).toContain('This workspace reaches no hosts');
    await ada.client.patch(`/api/workspaces/${other}/egress`, { mode: 'allow', hosts: ['127.0.0.1'] });
    expect(await refusal('http://127.0.0.1/', other)).toContain('cannot be fetched');
    expect(asked).toHaveLength(count);
  });

  it.each(['ftp://localhost/x', 'file:///etc/passwd', '/guide', 'https://a:b@localhost/'])(
    'refuses %s',
    async url => {
      expect((await fetching({ url })).body).toMatchObject({
        is_error: true,
        output: expect.stringMatching(/^url must/),
      });
    },
  );

  it('takes the role by which commands run', async () => {
    const [viewer, stranger] = await Promise.all([
      ground.service.person('Viewer'),
      ground.service.person('Stranger'),
    ]);
    await ground.service.join(viewer, {
      organization: ada.organizationId,
      role: 'guest',
      workspace,
      workspaceRole: 'viewer',
    });
    expect((await fetching({ url: `${origin}/guide` }, viewer)).status).toBe(403);
    expect((await fetching({ url: `${origin}/guide` }, stranger)).status).toBe(404);
    expect((await fetching({ address: origin })).status).toBe(422);
  });

  it('is there for agents', async () => {
    const tool = { name: 'web_fetch', input: { url: `${origin}/guide` } };
    ground.model.reply([{ tools: [tool] }, { text: 'Read.' }]);
    const { result } = await ground.agent.run('go', { workspace_id: workspace });
    expect(quoted(result.toolOutputs[0])).toContain('# Guide');
  });
});
