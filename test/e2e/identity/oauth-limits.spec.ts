import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DocumentServer } from '../../fakes/document-server.js';
import { Browser } from '../../harness/browser.js';
import { OAuthClient, REDIRECT, startOAuthService } from '../../harness/oauth.js';
import type { TestService } from '../../harness/service.js';

let service: TestService;
let documents: DocumentServer;

beforeAll(async () => {
  documents = await DocumentServer.start();
  service = await startOAuthService({ RATE_LIMITS_PER_HOUR: 'oauth_client=2' });
});
afterAll(async () => {
  await service.stop();
  await documents.stop();
});

describe('an authorization server as it is installed', () => {
  it('takes so many registrations from one address', async () => {
    const answers = [];
    for (let count = 0; count < 3; count++)
      answers.push(await service.stranger.post('/oauth/register', { redirect_uris: [REDIRECT] }));
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 429]);
    expect(answers[2]?.headers.get('retry-after')).toMatch(/^\d+$/);
  });

  it.each(['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]'])(
    'does not fetch a metadata document from %s',
    async host => {
      documents.documents.set('/client.json', () => ({ redirect_uris: [REDIRECT] }));
      const id = `https://${host}:${new URL(documents.origin).port}/client.json`;
      const documented = await OAuthClient.of(service, id);
      const { parameters } = await documented.request();
      const { status, html } = await new Browser(service.url).open(documented.address(parameters));
      expect(status).toBe(400);
      expect(html).toContain('what it says of itself cannot be read');
      expect(documents.requests).toEqual([]);
    },
  );

  it('behind TLS keeps its cookies from sites on subdomains', async () => {
    const secure = await startOAuthService({ PUBLIC_URL: 'https://atelier.example' });
    const metadata = { redirect_uris: [REDIRECT], token_endpoint_auth_method: 'none' };
    const { body } = await secure.stranger.post('/oauth/register', metadata);
    const parameters = new URLSearchParams({
      client_id: body.client_id,
      response_type: 'code',
      redirect_uri: REDIRECT,
      code_challenge: 'x'.repeat(43),
      code_challenge_method: 'S256',
    });
    const { headers } = await secure.stranger.raw('GET', `/oauth/authorize?${parameters}`, {
      redirect: 'manual',
    });
    await secure.stop();
    expect(headers.get('location')).toMatch(/^\/oauth\/interaction\//);
    const cookies = headers.getSetCookie();
    expect(cookies.length).toBeGreaterThan(0);
    for (const cookie of cookies) expect(cookie).toMatch(/^__(Host|Secure)-oauth_.*; secure/i);
  });
});
