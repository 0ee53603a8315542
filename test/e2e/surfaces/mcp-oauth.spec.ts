import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  Client as NextClient,
  StreamableHTTPClientTransport as NextTransport,
} from '@modelcontextprotocol/client';
import { Client as FirstClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as FirstTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { decodeJwt, generateKeyPair, SignJWT } from 'jose';
import { DocumentServer } from '../../fakes/document-server.js';
import { Browser } from '../../harness/browser.js';
import type { Json } from '../../harness/client.js';
import { allow, OAuthClient, REDIRECT, signIn, startOAuthService } from '../../harness/oauth.js';
import type { Person, TestService } from '../../harness/service.js';

const INFO = { name: 'test', version: '1.0.0' };

let documents: DocumentServer;
let service: TestService;
let ada: Person;
let bob: Person;
let workspace: string;

beforeAll(async () => {
  documents = await DocumentServer.start();
  documents.documents.set('/sdk.json', origin => ({
    client_id: `${origin}/sdk.json`,
    client_name: 'Documented',
    redirect_uris: [REDIRECT],
    token_endpoint_auth_method: 'none',
  }));
  service = await startOAuthService(
    { RATE_LIMITS_PER_HOUR: 'oauth_client=50' },
    { outgoing: documents.wayIn },
  );
  ada = await service.person('Ada');
  bob = await service.person('Bob');
  workspace = await service.workspace(ada);
});
afterAll(async () => {
  await service?.stop();
  await documents?.stop();
});

/** What the SDKs ask of an application: here, one whose person agrees to everything. */
class Application {
  readonly redirectUrl = REDIRECT;
  readonly asked: URL[] = [];
  callback: URL | undefined;
  information: Json;
  kept: Json;
  private verifier = '';
  private discovered: Json;

  constructor(
    readonly clientMetadataUrl?: string,
    public level = 'all',
  ) {}

  get clientMetadata() {
    return {
      client_name: 'SDK',
      redirect_uris: [REDIRECT],
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
    };
  }
  state = () => 'a-state';
  clientInformation = () => this.information;
  saveClientInformation = (information: Json) => {
    this.information = information;
  };
  tokens = () => this.kept;
  saveTokens = (tokens: Json) => {
    this.kept = tokens;
  };
  saveCodeVerifier = (verifier: string) => {
    this.verifier = verifier;
  };
  // By these the second line of the SDK makes sure that the answer is from whom it asked.
  saveDiscoveryState = (state: Json) => {
    this.discovered = state;
  };
  discoveryState = () => this.discovered;
  codeVerifier = () => this.verifier;

  async redirectToAuthorization(address: URL): Promise<void> {
    this.asked.push(address);
    const browser = new Browser(service.url);
    const consent = await signIn(browser, await browser.open(address), ada);
    this.callback = (await allow(browser, consent, { level: this.level })).url;
  }

  get parameters(): URLSearchParams {
    return this.callback?.searchParams ?? new URLSearchParams();
  }
}

interface Line {
  connect(application: Application): Promise<{ client: Json; transport: Json }>;
}
const address = () => new URL(`${service.url}/mcp`);
const first: Line = {
  async connect(application) {
    const client = new FirstClient(INFO);
    const transport = new FirstTransport(address(), { authProvider: application as Json });
    return { client, transport };
  },
};
const next: Line = {
  async connect(application) {
    const client = new NextClient(INFO, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
    const transport = new NextTransport(address(), { authProvider: application as Json });
    return { client, transport };
  },
};

/** From the first refusal to the first answer. */
async function letIn(line: Line, application: Application): Promise<Json> {
  const refused = await line.connect(application);
  await expect(refused.client.connect(refused.transport)).rejects.toThrow(/unauthori[sz]ed/i);
  // The second line of the SDK checks who answered (RFC 9207), and takes the parameters whole.
  const answer = line === next ? application.parameters : application.parameters.get('code');
  await refused.transport.finishAuth(answer);
  const { client, transport } = await line.connect(application);
  await client.connect(transport);
  return client;
}

describe.each([
  ['the first line of the SDK', first],
  ['the second line of the SDK', next],
])('%s', (_name, line) => {
  it.each<[string, () => string | undefined]>([
    ['registers itself', () => undefined],
    ['is its metadata document', () => `${documents.origin}/sdk.json`],
  ])('%s, and is let in', async (_how, document) => {
    const application = new Application(document());
    const client = await letIn(line, application);
    const { tools } = await client.listTools();
    expect(tools.length).toBeGreaterThan(0);
    const [asked] = application.asked;
    expect(asked?.searchParams.get('code_challenge_method')).toBe('S256');
    expect(asked?.searchParams.get('resource')).toBe(`${service.url}/mcp`);
    expect(application.information.client_id).toMatch(document() ? /\/sdk\.json$/ : /^app_/);
    await client.close();
  });

  it('gets a new access token by itself when the old one is over', async () => {
    const application = new Application();
    const client = await letIn(line, application);
    const { access_token, refresh_token } = application.kept;
    application.kept = { ...application.kept, access_token: `${access_token.slice(0, -8)}xxxxxxxx` };
    const { client: again, transport } = await line.connect(application);
    await again.connect(transport);
    expect((await again.listTools()).tools.length).toBeGreaterThan(0);
    expect(application.kept.refresh_token).not.toBe(refresh_token);
    expect(application.asked).toHaveLength(1);
    await again.close();
    await client.close();
  });
});

describe('the second line of the SDK, let in for less', () => {
  // The first line refreshes the token it has, which cannot hold more, and gives up.
  it('goes back to its person for what it was not let in for', async () => {
    const application = new Application(undefined, 'read');
    const client = await letIn(next, application);
    application.level = 'all';
    const write = {
      name: 'write_file',
      arguments: { workspace_id: workspace, path: 'later.txt', content: 'x' },
    };
    await expect(client.callTool(write)).rejects.toThrow(/unauthori[sz]ed/i);
    expect(application.asked.at(-1)?.searchParams.get('scope')).toMatch(/^read write\b/);
    const { client: again, transport } = await next.connect(application);
    await transport.finishAuth(application.parameters);
    await again.connect(transport);
    expect((await again.callTool(write)).structuredContent).toMatchObject({ path: 'later.txt' });
    await again.close();
    await client.close();
  });
});

describe('a token', () => {
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
  const at = (token: string, path = '/mcp') =>
    service.stranger
      .with({ authorization: `Bearer ${token}`, accept: 'application/json, text/event-stream' })
      .json(path === '/mcp' ? 'POST' : 'GET', path, path === '/mcp' ? ping : undefined);

  it('is for the one resource it was granted for', async () => {
    const client = await OAuthClient.register(service);
    const forMcp = await client.authorize(ada, { scope: 'read' });
    const forApi = await client.authorize(ada, { scope: 'read', resource: `${service.url}/api` });
    expect((await at(forMcp.access_token)).status).toBe(200);
    expect((await at(forMcp.access_token, '/api/workspaces')).status).toBe(401);
    expect((await at(forApi.access_token)).status).toBe(401);
    expect((await at(forApi.access_token, '/api/workspaces')).status).toBe(200);
  });

  it('of another authorization server is nothing here', async () => {
    const { privateKey } = await generateKeyPair('ES256');
    const forged = await new SignJWT({ client_id: 'x', scope: 'read write', grant_id: ada.id })
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: 'mine' })
      .setIssuer(service.url)
      .setAudience(`${service.url}/mcp`)
      .setSubject(ada.id)
      .setJti('x')
      .setIssuedAt()
      .setExpirationTime('5 minutes')
      .sign(privateKey);
    const answer = await at(forged);
    expect(answer.status).toBe(401);
    expect(answer.headers.get('www-authenticate')).toContain('error="invalid_token"');
  });

  it('is over at once when its person takes the grant back', async () => {
    const client = await OAuthClient.register(service);
    const { access_token } = await client.authorize(ada, { scope: 'read' });
    expect((await at(access_token)).status).toBe(200);
    const { status } = await ada.client.delete(`/api/oauth/grants/${decodeJwt(access_token).grant_id}`);
    expect(status).toBe(200);
    expect((await at(access_token)).status).toBe(401);
  });
});

describe("somebody else's", () => {
  const call = async (person: Person, method: string, params: Json) =>
    (
      await person.client
        .with({ accept: 'application/json, text/event-stream' })
        .post('/mcp', { jsonrpc: '2.0', id: 1, method, params })
    ).body;

  it('runs are not to be seen, by tool or as a resource', async () => {
    const input = { workspace_id: workspace, message: 'list' };
    const sent = await call(ada, 'tools/call', { name: 'send_message', arguments: input });
    const { call_id } = sent.result.structuredContent;
    const status = await call(bob, 'tools/call', { name: 'run_status', arguments: { call_id } });
    expect(status.result).toMatchObject({ isError: true });
    const read = await call(bob, 'resources/read', { uri: `atelier://run/${call_id}` });
    expect(read.error.message).not.toContain(workspace);
    expect(read.result).toBeUndefined();
  });

  it('cursors show what one sees oneself', async () => {
    for (let n = 0; n < 25; n++) await service.workspace(ada, { name: `Many ${n}` });
    const { result } = await call(ada, 'resources/list', {});
    expect(result.nextCursor).toEqual(expect.any(String));
    const stolen = await call(bob, 'resources/list', { cursor: result.nextCursor });
    const names = (stolen.result?.resources ?? []).map(({ name }: Json) => name);
    expect(names.filter((name: string) => name.startsWith('Many'))).toEqual([]);
  });
});
