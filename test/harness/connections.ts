import { FakeOAuthProvider } from '../fakes/oauth-provider.js';
import type { Client, Json } from './client.js';
import { freePort } from './free-port.js';
import { type Person, TestService } from './service.js';
import { type Shown, WebBrowser } from './web-browser.js';

export const CALLBACK = '/api/integrations/callback';

/** A service that may reach a provider on this machine, under an address that browsers reach. */
export async function startConnected(
  environment: Record<string, string> = {},
): Promise<{ service: TestService; provider: FakeOAuthProvider }> {
  const provider = await FakeOAuthProvider.start();
  const port = await freePort();
  const PUBLIC_URL = `http://localhost:${port}`;
  provider.redirectUris = [`${PUBLIC_URL}${CALLBACK}`];
  const service = await TestService.start({
    PORT: String(port),
    PUBLIC_URL,
    OUTGOING_PRIVATE_HOSTS: provider.host,
    ...environment,
  });
  return { service, provider };
}

/** The organization of `owner` can connect the provider. */
export async function describeProvider(
  { client, organizationId: organization_id }: Person,
  provider: FakeOAuthProvider,
  id = 'acme',
  changes: object = {},
): Promise<void> {
  const definition = provider.definition(id, changes);
  const made = await client.post('/api/integrations/providers', { organization_id, definition });
  if (made.status !== 200) throw new Error(`provider: ${made.status} ${JSON.stringify(made.body)}`);
  if (definition.auth !== 'oauth2') return;
  await client.put(`/api/integrations/providers/${id}/client`, {
    organization_id,
    client_id: provider.clientId,
    client_secret: provider.clientSecret,
  });
}

/** A browser in which nobody is signed in. */
export const browser = () => new WebBrowser();

/** Opens the address, signs in where that is asked, and goes on to wherever that leads. */
export async function authorize(
  address: string,
  { email, password }: Person,
  at: WebBrowser = browser(),
): Promise<Shown> {
  const page = await at.open(address);
  if (!page.text.includes('name="password"')) return page;
  return at.submit(page, new URL(address).pathname, { email, password });
}

/** Begins a connection, and authorizes it. */
export async function connect(
  person: Person,
  fields: Json = {},
  at?: WebBrowser,
): Promise<{ id: string; shown: Shown }> {
  const begun = await begin(person.client, { organization_id: person.organizationId, ...fields });
  const shown = await authorize(begun.authorize_url, person, at);
  return { id: begun.id, shown };
}

export async function begin(client: Client, fields: Json): Promise<{ id: string; authorize_url: string }> {
  const { status, body } = await client.post('/api/integrations', { provider: 'acme', ...fields });
  if (status !== 200) throw new Error(`connection: ${status} ${JSON.stringify(body)}`);
  return { id: body.connection.id, authorize_url: body.authorization?.authorize_url };
}
