import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { Tokens } from '../../src/connections/stored-credentials/index.js';
import { Database } from '../../src/platform/database/index.js';
import { fieldOfParam } from '../../src/platform/dto/index.js';
import { apiDocument } from './api-document.js';
import type { Json } from './client.js';
import type { Person, TestService } from './service.js';

/** A route as the description has it. */
export interface Route {
  readonly method: string;
  readonly path: string;
  readonly operation: Json;
  readonly name: string;
}

const document = await apiDocument();
export const schemas = document.components?.schemas as Record<string, Json>;
export const routes: readonly Route[] = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item as Record<string, Json>).map(([verb, operation]) => {
    const method = verb.toUpperCase();
    return { method, path, operation, name: `${method} ${path}` };
  }),
);
const isPublic = ({ operation }: Route) => operation['x-public'] === true;
/** Routes for programs with a token of their own; how they are closed is tested with the actions. */
export const takesExecToken = ({ operation }: Route) => operation['x-exec-token'] === true;
/** Those that want a credential of a person or of a service account. */
export const closedRoutes = routes.filter(route => !isPublic(route) && !takesExecToken(route));

/** The fields of a route's JSON body; undefined where it takes none. */
export function bodySchemaOf({ operation }: Route): Json {
  const schema = operation.requestBody?.content?.['application/json']?.schema;
  return schema && schemas[schema.$ref.split('/').at(-1)];
}

/** Ids of things, by the noun of the thing or the name of a field that takes them. */
export type Ids = Readonly<Record<string, string>>;

/** One thing of each kind that has an id, all of `owner`'s; `other` is in the organization and a viewer of the workspace. */
export async function makeThings(service: TestService, owner: Person, other: Person): Promise<Ids> {
  const workspace = await service.workspace(owner, { visibility: 'restricted' });
  await service.join(other, {
    organization: owner.organizationId,
    role: 'guest',
    workspace,
    workspaceRole: 'viewer',
  });
  await owner.client.put(`/api/workspaces/${workspace}/files/content`, {
    path: 'notes/plan.md',
    content: 'teh plan',
  });
  const sent = await owner.client.post('/api/agent/message', { workspace_id: workspace, message: 'list' });
  const key = await owner.client.post('/api/keys', { name: 'CI' });
  const organization_id = owner.organizationId;
  const account = await owner.client.post('/api/service-accounts', {
    organization_id,
    name: 'Bot',
    role: 'member',
  });
  const accountKey = await owner.client.post(`/api/service-accounts/${account.body.id}/keys`, {
    name: 'CI',
  });
  const invitation = await owner.client.post(`/api/organizations/${organization_id}/invitations`, {
    email: 'new@example.com',
  });
  const shared = await owner.client.post('/api/share', { workspace_id: workspace, path: 'notes/plan.md' });
  const fileInvitation = await owner.client.post('/api/file-invitations', {
    workspace_id: workspace,
    path: 'notes/plan.md',
    email: 'new@example.com',
  });
  await owner.client.get(`/api/agent/status/${sent.body.call_id}?wait=30`);
  const sessions = await owner.client.get('/api/auth/sessions');
  const ran = await owner.client.post('/api/actions/file_list/run', { workspace_id: workspace });
  const versions = await owner.client.get(`/api/workspaces/${workspace}/files/history`);
  const duplicate = await owner.client.post(`/api/workspaces/${workspace}/duplicate`, { name: 'Copy' });
  const webhook = await owner.client.post('/api/notifications/webhooks', {
    organization_id,
    url: 'https://localhost:8443/',
    // Nothing that tests do: it would be sent again and again.
    types: ['budget.stopped'],
  });
  const connector = await owner.client.post('/api/connectors', {
    organization_id,
    owner: 'organization',
    name: 'Things',
    url: 'https://localhost:8443/',
    auth: 'bearer',
    token: 'sample',
  });
  const [attempt] = await service.database.query<{ id: string }>(
    `with message as (
       insert into webhook_message (id, endpoint_id, event_key, type, body, state, attempts, created_at, settled_at)
       values (gen_random_uuid(), $1, 'sample', 'webhook.test', '{}', 'failed', 8, now(), now()) returning id)
     insert into webhook_attempt (id, endpoint_id, message_id, status, duration_ms, created_at)
     select gen_random_uuid(), $1, id, 500, 1, now() from message returning id`,
    [webhook.body.id],
  );
  const [approval] = await service.database.query<{ id: string }>(
    `insert into approval (id, subject_kind, organization_id, workspace_id, tool, effect, requested_by, status, expires_at, created_at)
     values (gen_random_uuid(), 'mcp_call', $1, $2, 'file_delete', 'destructive', $3, 'pending', now() + interval '1 day', now())
     returning id`,
    [organization_id, workspace, owner.id],
  );
  const [question] = await service.database.query<{ id: string }>(
    `insert into question (id, organization_id, workspace_id, chat_id, run_id, step, position, call_id, question, choices,
       multiple, allow_text, asked_of, status, expires_at, created_at)
     select gen_random_uuid(), organization_id, workspace_id, chat_id, id, 1, 1, 'call', 'Which?', '[{"label": "PostgreSQL"}]',
       false, true, created_by, 'pending', now() + interval '1 day', now() from run where id = $1
     returning id`,
    [sent.body.call_id],
  );
  const { body: site } = await owner.client.post('/api/sites', {
    workspace_id: workspace,
    name: 'Things',
    slug: `things-${owner.id.slice(-12)}`,
    folder: 'notes',
  });
  const siteToken = await owner.client.post(`/api/site-access/${site.id}/tokens`, { name: 'CI' });
  const { body: version } = await owner.client.post(`/api/sites/${site.id}/versions`, { auto_promote: true });
  await owner.client.get(`/api/sites/${site.id}/versions/${version.id}?wait=60`);
  const { body: server } = await owner.client.post('/api/tunnels', {
    workspace_id: workspace,
    name: 'Things',
    slug: `things-${owner.id.slice(-12)}`,
    command: 'true',
    start: false,
  });
  await owner.client.put(`/api/workspaces/${workspace}/files/content`, {
    path: 'forms/feedback.form',
    content: 'title: Things\nfields:\n  - { id: thing, label: Thing, type: text }\n',
  });
  const { body: sharedForm } = await owner.client.post(`/api/workspaces/${workspace}/forms/share`, {
    path: 'forms/feedback.form',
  });
  const [submission] = await service.database.query<{ id: string }>(
    `insert into form_submission (id, form_id, submission_key, data, state, reason, address_hash)
     values (gen_random_uuid(), $1, 'sample', '{"thing": "one"}', 'spam', 'sample', 'sample') returning id`,
    [sharedForm.id],
  );
  const [template] = await service.database.query<{ id: string; version: string }>(
    `with made as (
       insert into template (id, organization_id, workspace_id, slug, name, description, visibility, created_by, created_at, updated_at)
       values (gen_random_uuid(), $1, $2, 'things', 'Things', '', 'org', $3, now(), now()) returning id),
     version as (
       insert into template_version (id, template_id, number, state, published_by, created_at)
       select gen_random_uuid(), id, 1, 'published', $3, now() from made returning id, template_id)
     select template_id as id, id as version from version`,
    [organization_id, workspace, owner.id],
  );
  const { body: loop } = await owner.client.post('/api/loops', {
    workspace_id: workspace,
    prompt: 'list',
    model: 'atelier/demo',
    interval_seconds: 86_400,
    until: { check: { run: 'bash', code: 'false' } },
  });
  await owner.client.post(`/api/loops/${loop.id}/stop`, {});
  const automation = {
    file_path: 'automations/things.md',
    ...(await automationOf(service, owner, workspace, 'automations/things.md')),
  };
  const tokens = service.app.get(Tokens, { strict: false });
  const tokenSet = await service.app
    .get(Database, { strict: false })
    .transaction(unit =>
      tokens.add(
        unit,
        { kind: 'integration', organization_id },
        { accessToken: 'token-of-things', scopes: [] },
      ),
    );
  const [connection] = await service.database.query<{ id: string }>(
    `with provider as (
       insert into integration_provider (id, organization_id, slug, definition, created_by, created_at, updated_at)
       values (gen_random_uuid(), $1, 'acme', $3, $2, now(), now())),
     client as (
       insert into integration_client (organization_id, provider, client_id, updated_by, updated_at)
       values ($1, 'acme', 'client', $2, now())),
     made as (
       insert into integration_connection (id, organization_id, provider, name, state, scopes, settings, token_set_id, created_by, created_at, updated_at)
       values (gen_random_uuid(), $1, 'acme', 'Things', 'active', '{}', '{}', $5, $2, now(), now()) returning id),
     granted as (
       insert into connection_grant (connection_id, workspace_id, methods, paths, granted_by, created_at)
       select id, $4, '{}', '{}', $2, now() from made)
     select id from made`,
    [organization_id, owner.id, JSON.stringify(DEFINITION), workspace, tokenSet],
  );
  await owner.client.post(`/api/workspaces/${workspace}/tools/bash`, {
    input: {
      command:
        'git init -q -b main things && cd things && git -c user.name=A -c user.email=a@example.com commit -q --allow-empty -m first && echo one > staged && git add staged',
    },
  });
  const [repo] = await service.database.query<{ id: string }>(
    `insert into git_repo (id, workspace_id, path, url, connection_id, state, created_by, created_at, updated_at)
     values (gen_random_uuid(), $1, 'things', 'https://acme.example.com/acme/things.git', $2, 'ready', $3, now(), now())
     returning id`,
    [workspace, connection?.id, owner.id],
  );
  const folder = path.join(service.dataDir, 'templates', template?.id ?? '', template?.version ?? '');
  mkdirSync(folder, { recursive: true });
  return {
    organization_id,
    connection_id: connection?.id ?? '',
    git_repo_id: repo?.id ?? '',
    provider: 'acme',
    template_id: template?.id ?? '',
    number: '1',
    ...automation,
    loop_id: loop.id,
    workspace_id: workspace,
    server_id: server.id,
    form_id: sharedForm.id,
    submission_id: submission?.id ?? '',
    site_id: site.id,
    site_token_id: siteToken.body.id,
    version_id: version.id,
    if_live: version.id,
    workspace_ids: workspace,
    sandbox_id: workspace,
    user_id: other.id,
    actor_id: other.id,
    service_account_id: account.body.id,
    run_as: account.body.id,
    key_id: accountKey.body.id,
    api_key_id: key.body.id,
    session_id: sessions.body.items[0].id,
    grant_id: await grantOf(service, owner),
    // In organizations; every other `id` is what its action is on.
    id: invitation.body.id,
    chat_id: sent.body.chat_id,
    run_id: sent.body.call_id,
    message_id: sent.body.message_id,
    approval_id: approval?.id ?? '',
    question_id: question?.id ?? '',
    action_run_id: ran.body.run_id,
    connector_id: connector.body.id,
    webhook_id: webhook.body.id,
    webhook_attempt_id: attempt?.id ?? '',
    version: versions.body.items[0].id,
    against: versions.body.items[0].id,
    operation_id: duplicate.body.operation_id,
    share_id: shared.body.id,
    file_invitation_id: fileInvitation.body.id,
    invited_file_id: fileInvitation.body.id,
    name: 'file_write',
    tool_name: 'bash',
  };
}

/** A service that can be connected, and is never asked. */
export const DEFINITION = {
  id: 'acme',
  name: 'Acme',
  docs: 'https://acme.example.com/docs',
  auth: 'oauth2',
  authorize_url: 'https://acme.example.com/oauth/authorize',
  token_url: 'https://acme.example.com/oauth/token',
  api: {
    base_url: 'https://acme.example.com',
    hosts: [],
    header: 'Authorization',
    template: 'Bearer {access_token}',
  },
  git: { hosts: ['acme.example.com'], username: 'git' },
};

const AUTOMATION = '---\nname: Things\nrun: bash\non:\n  - webhook: {}\n---\n```bash\ntrue\n```\n';

/** A deployment with a run that has ended. */
async function automationOf(
  service: TestService,
  owner: Person,
  workspace_id: string,
  file_path: string,
): Promise<Ids> {
  await owner.client.put(`/api/workspaces/${workspace_id}/files/content`, {
    path: file_path,
    content: AUTOMATION,
  });
  const { body } = await owner.client.post('/api/automation/deployments', { workspace_id, file_path });
  const [made] = await service.database.query<{ run: string; delivery: string }>(
    `with run as (
       insert into automation_run (id, organization_id, workspace_id, deployment_id, version, file_path, delivery_id,
         trigger_kind, kind, state, status, lane, lane_max, actor, queued_at, finished_at)
       select gen_random_uuid(), organization_id, workspace_id, id, 1, file_path, gen_random_uuid(),
         'manual', 'script', 'done', 'completed', id::text, 1, actor, now(), now()
       from automation_deployment where id = $1 returning id, delivery_id)
     insert into automation_delivery (id, workspace_id, deployment_id, version, kind, state, received_at, run_id)
     select delivery_id, $2, $1, 1, 'manual', 'accepted', now(), id from run returning id as delivery, run_id as run`,
    [body.id, workspace_id],
  );
  return {
    deployment_id: body.id,
    trigger_id: body.triggers[0].id,
    automation_trigger_id: body.triggers[0].id,
    automation_run_id: made?.run ?? '',
    automation_delivery_id: made?.delivery ?? '',
  };
}

/** The ids by the names of the fields that take them, as what an action is on tells: `{ call_id: 'run' }`. */
export const idsOn = (on: Readonly<Record<string, string>> = {}, ids: Ids): Ids => ({
  ...ids,
  ...Object.fromEntries(Object.entries(on).map(([field, noun]) => [field, ids[`${noun}_id`] ?? ''])),
});

/** As {@link idsOn}, for the action of a route. */
export const idsFor = ({ operation, path }: Route, ids: Ids): Ids =>
  idsOn(path.startsWith('/api/auth/sessions/') ? { id: 'session' } : operation['x-on'], ids);

/** An application that `person` let in. */
async function grantOf(service: TestService, person: Person): Promise<string> {
  const [row] = await service.database.query<{ id: string }>(
    `insert into oauth_grant (id, user_id, client_id, client_name, scopes, resources, terms, created_at, expires_at)
     values (gen_random_uuid(), $1, 'app_x', 'X', '{read}', '{}', '{}', now(), now() + interval '1 day') returning id`,
    [person.id],
  );
  return row?.id ?? '';
}

/** The value that the description gives as an example, with the ids where an id is wanted. */
function exampleOf(schema: Json, name: string, ids: Ids): Json {
  if (schema.$ref) return sampleBody(schemas[schema.$ref.split('/').at(-1)], ids);
  if (schema.allOf) return exampleOf(schema.allOf[0], name, ids);
  if (ids[name] && schema.type !== 'integer') return ids[name];
  return schema.example ?? schema.default ?? (schema.type === 'array' ? [] : 'text');
}

const nameOf = (schema: Json) => Object.keys(schemas).find(name => schemas[name] === schema) ?? '';

/** Of several optional fields, the one that a call is made with. */
const CHOSEN: Record<string, string> = {
  StopRuns: 'chat_id',
  '/api/agent/runs': 'chat_id',
  EditQueuedMessage: 'position',
};

/** What a body takes at the least, and what a call is made with. */
export function sampleBody(schema: Json, ids: Ids, extra: Json = {}): Json {
  const required: string[] = schema.required ?? [];
  const named = Object.keys(schema.properties).filter(name =>
    ['workspace_id', 'input', CHOSEN[nameOf(schema)]].includes(name),
  );
  const fields = [...new Set([...required, ...named])];
  return {
    ...Object.fromEntries(fields.map(name => [name, exampleOf(schema.properties[name], name, ids)])),
    ...extra,
  };
}

/** Where a route is, with ids in its path and its query. */
export function addressOf({ path, operation }: Route, ids: Ids): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name) => ids[fieldOfParam(name)] ?? name);
  const query = (operation.parameters ?? [])
    .filter(
      (parameter: Json) =>
        parameter.in === 'query' && (parameter.required || parameter.name === CHOSEN[path]),
    )
    .map(
      (parameter: Json) => `${parameter.name}=${encodeURIComponent(ids[parameter.name] ?? 'notes/plan.md')}`,
    );
  return query.length > 0 ? `${filled}?${query.join('&')}` : filled;
}
