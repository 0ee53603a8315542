import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { SAMPLE_IDS } from '../dto/index.js';

/** Serves Swagger UI at /docs and the OpenAPI document at /api/openapi.json, which `describe` makes when it is asked for. */
export function serveDocs(app: NestFastifyApplication, describe: () => OpenAPIObject): void {
  SwaggerModule.setup('docs', app, () => ({ ...describe(), 'x-sample-ids': SAMPLE_IDS }) as OpenAPIObject, {
    jsonDocumentUrl: 'api/openapi.json',
    customSiteTitle: 'Atelier API',
    swaggerOptions: {
      persistAuthorization: true,
      filter: true,
      docExpansion: 'none',
      tryItOutEnabled: true,
      displayRequestDuration: true,
      defaultModelsExpandDepth: 0,
      plugins: [ownIds],
    },
  });
}

interface Found {
  id?: string;
  call_id?: string;
  name?: string;
  organization_id?: string;
}
interface SwaggerSystem {
  specSelectors: { specJson(): { toJS(): Record<string, unknown> } };
  specActions: { updateSpec(text: string): void };
}
type Credentials = Partial<Record<'api_key' | 'access_token', { value: string }>>;
/** What `authorize` is given, and (as `authorized`) what the browser kept of an earlier visit. */
type Given = Credentials & { authorized?: Credentials };
type Wrap = (original: (given: Given) => unknown, system: SwaggerSystem) => (given: Given) => unknown;

/**
 * A plugin of Swagger UI, which runs in the browser and so may use nothing from outside of itself. As soon as a person
 * authorizes, the sample ids of the examples become those of a workspace (Welcome, where there is one), an organization, a
 * chat and a run of theirs, so that "Execute" works without an id to look up.
 */
function ownIds() {
  const fill = async (system: SwaggerSystem, { api_key, access_token }: Credentials) => {
    const headers: Record<string, string> = {};
    if (api_key) headers['X-API-Key'] = api_key.value;
    else if (access_token) headers.Authorization = `Bearer ${access_token.value}`;
    else return;
    const list = async (path: string): Promise<Found[]> => {
      const response = await fetch(path, { headers });
      return response.ok ? ((await response.json()) as { items: Found[] }).items : [];
    };
    const workspaces = await list('/api/workspaces?limit=200');
    const workspace = workspaces.find(({ name }) => name === 'Welcome') ?? workspaces[0];
    if (!workspace) return;
    const [chats, runs] = await Promise.all([
      list(`/api/chats?workspace_id=${workspace.id}&limit=1`),
      list(`/api/agent/runs?workspace_id=${workspace.id}&limit=1`),
    ]);
    const own: Record<string, string | undefined> = {
      workspace_id: workspace.id,
      organization_id: workspace.organization_id,
      chat_id: chats[0]?.id,
      call_id: runs[0]?.call_id,
    };
    const document = system.specSelectors.specJson().toJS();
    const samples = document['x-sample-ids'] as Record<string, string>;
    let text = JSON.stringify(document);
    for (const [field, sample] of Object.entries(samples))
      text = text.replaceAll(sample, own[field] ?? sample);
    system.specActions.updateSpec(text);
  };
  const thenFill: Wrap = (original, system) => given => {
    const result = original(given);
    void fill(system, given.authorized ?? given);
    return result;
  };
  return {
    statePlugins: { auth: { wrapActions: { authorize: thenFill, restoreAuthorization: thenFill } } },
  };
}
