import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { OAuthResources, OAuthTokens } from '../../src/identity/index.js';
import { Browser } from '../harness/browser.js';
import { allow, OAuthClient, REDIRECT, signIn, startOAuthService } from '../harness/oauth.js';
import type { Person, TestService } from '../harness/service.js';

let service: TestService;
let ada: Person;
let client: OAuthClient;
let workspace: string;

beforeAll(async () => {
  service = await startOAuthService();
  ada = await service.person();
  workspace = await service.workspace(ada, { name: 'Research' });
  client = await OAuthClient.register(service);
});
afterAll(() => service.stop());

const tokens = () => service.app.get(OAuthTokens, { strict: false });
const resources = () => service.app.get(OAuthResources, { strict: false });
const actorAtMcp = (token: string) => tokens().verify(token, resources().mcp);

describe('the authorization code flow', () => {
  it('ends in a token for the MCP endpoint', async () => {
    const { access_token, refresh_token, token_type, scope } = await client.authorize(ada, { scope: 'read' });
    expect({ token_type, scope }).toEqual({ token_type: 'bearer', scope: 'read' });
    expect(refresh_token).toBeTruthy();
    expect(await actorAtMcp(access_token)).toMatchObject({ id: ada.id, type: 'user' });
  });
});
