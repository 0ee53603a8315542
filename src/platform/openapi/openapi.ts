import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { DocumentBuilder, OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { IDEMPOTENCY_KEY } from '../idempotency/index.js';
import { documentRoutes } from './serves.js';

type Json = Record<string, unknown>;
type Schemas = NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>;

/** The schemas that a part of the description refers to, those that they refer to included, by name. */
function referredBy(part: unknown, schemas: Schemas, found = new Set<string>()): Set<string> {
  for (const [, name = ''] of JSON.stringify(part).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
    if (found.has(name)) continue;
    found.add(name);
    referredBy(schemas[name] ?? {}, schemas, found);
  }
  return found;
}

/**
 * Describes where null may stand: in what is sent, an optional field may be null, which is the same as leaving it out.
 * OpenAPI 3.0.3 makes `nullable` count only beside a `type`, and only where an `enum` lists null too.
 */
export function describeNulls({ paths, components }: OpenAPIObject): void {
  const schemas = components?.schemas ?? {};
  const bodies = Object.values(paths).flatMap(item =>
    Object.values(item as Record<string, Json>).map(({ requestBody = {} }) => requestBody),
  );
  const sent = referredBy(bodies, schemas);
  for (const [name, schema] of Object.entries(schemas)) {
    const { properties = {}, required = [] } = schema as {
      properties?: Record<string, Json>;
      required?: string[];
    };
    for (const [field, property] of Object.entries(properties)) {
      if (sent.has(name) && !required.includes(field)) property.nullable = true;
      if (property.nullable === true) takeNull(property);
      else delete property.nullable;
    }
  }
}

function takeNull(property: Json): void {
  property.type ??= 'object';
  const { enum: values } = property;
  if (Array.isArray(values) && !values.includes(null)) property.enum = [...values, null];
}

type Operation = NonNullable<OpenAPIObject['paths'][string]['get']>;
type Parameter = Exclude<NonNullable<Operation['parameters']>[number], { $ref: string }>;
/** A parameter that no fewer operations have in common is a component. */
const MIN_SHARED = 15;
const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;

/** What holds for every route. */
const ABOUT = [
  'A workspace for teams and agents: files that people, programs and agents work on together, a sandbox in which code runs ' +
    'on them, and agents that use both.',
  '**Try it here**: press *Authorize*, paste an API key (after a first start: `api_key` in `.atelier/credentials.json`), open ' +
    '`POST /api/agent/message` and press *Execute*. The examples then use ids of your own: the workspace Welcome, where you ' +
    'have one.',
  'Success is 200 with a JSON object. Errors are `{"detail": "<one sentence that says what to do>"}` with the matching status; a browser, which asks for `text/html`, gets a page.',
  'In a body, null for an optional field is the same as leaving it out; where null is a value, the field says what it means.',
  'Requests a minute are limited for each credential, and for each address (IPv6: each /64) without a valid one. The ' +
    'headers `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers) tell the limit `q`, what is left ' +
    'of it `r`, and the seconds `t` until the minute is over; beyond it comes 429 with `Retry-After`. Where several ' +
    'processes serve, each of them may let through a tenth of the limit, and what reaches it within 0.2 seconds, before ' +
    'it knows of the others.',
  'A path that is known answers 405 with `Allow` to a method that it does not take, and 204 with it to OPTIONS.',
].join('\n\n');

const IDEMPOTENCY_HEADER = {
  name: IDEMPOTENCY_KEY,
  in: 'header' as const,
  required: false,
  description:
    'Any text of your own, best a random UUID, that names this request: sent twice, it runs once. For 24 hours the same ' +
    'credential, key and request get the first answer again, with `Idempotent-Replayed: true`, also where the service ' +
    'was killed before it could answer; another request with the same key gets 422, one that comes while the first still ' +
    'runs 409, and so does one whose first answer cannot be given again, with a sentence that says why. A repetition ' +
    'runs again after 429, and after 5xx where nothing was done. Kept answers are encrypted with the key. See ' +
    'docs/idempotency.md.',
  schema: { type: 'string' as const, minLength: 1, maxLength: 255, pattern: '^[\\x20-\\x7e]+$' },
};

const RUNNING = 'The first request with this Idempotency-Key is still running, or how it ended is not known';
const REUSED = 'This Idempotency-Key was used for another request';
const NOT_VALID = 'A field is not valid; the detail names it';

/** The failures that many routes have in common, by their name among the components. */
const FAILURES: Record<string, string> = {
  BadRequest: 'Malformed JSON or query',
  Unauthorized: 'No valid credential',
  Forbidden: 'Visible, but not allowed',
  NotFound: 'Unknown, or not visible to the caller',
  StillRunning: RUNNING,
  TooLarge: 'Larger than allowed',
  UnsupportedMediaType: 'Not a media type that this takes',
  Invalid: NOT_VALID,
  InvalidOrReusedKey: `${NOT_VALID}; or: ${REUSED}`,
  TooManyRequests: 'More requests a minute than allowed; Retry-After says when to come back',
  InternalError: 'An internal fault',
  Unavailable:
    'The database, or what the request needs, cannot be had right now; Retry-After says when to come back',
  DiskFull: 'A disk is full: that of the workspaces, or of the database; the detail says which',
};

const FAILURE_OF: Record<number, string> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  413: 'TooLarge',
  415: 'UnsupportedMediaType',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'Unavailable',
  507: 'DiskFull',
};

const EXEC_TOKEN =
  'A token (atx_…) that the service issues to what it runs. The sandboxes of runs and scripts of automations have one, behind their command `actions`, and so have servers and sites that name actions; there is no call that gives you one. Use /api/actions with a key or session instead.';

/** The whole interface description: what the routes say, and the failures that follow from what each takes. */
export function describeApi(app: NestFastifyApplication): OpenAPIObject {
  const config = new DocumentBuilder()
    .setTitle('Atelier')
    .setDescription(ABOUT)
    .setVersion('0.1.0')
    .addApiKey({ type: 'apiKey', in: 'header', name: 'X-API-Key' }, 'api_key')
    .addBearerAuth({ type: 'http', scheme: 'bearer', bearerFormat: 'JWT' }, 'access_token')
    .addBearerAuth({ type: 'http', scheme: 'bearer', description: EXEC_TOKEN }, 'exec_token')
    .addSecurityRequirements('api_key')
    .addSecurityRequirements('access_token')
    .build();
  documentRoutes();
  const document = SwaggerModule.createDocument(app, config, { autoTagControllers: false });
  for (const [path, item] of Object.entries(document.paths))
    for (const method of METHODS)
      if (item[method]) completeOperation(path, method, item[method], document.components?.schemas ?? {});
  describeNulls(document);
  document.components ??= {};
  document.components.responses = Object.fromEntries(
    Object.entries(FAILURES).map(([name, description]) => [name, problemResponse(description)]),
  );
  document.components.parameters = shareParameters(document.paths);
  const operations = Object.values(document.paths).flatMap(item =>
    METHODS.flatMap(method => item[method] ?? []),
  );
  document.tags = describeTags(new Set(operations.flatMap(({ tags = [] }) => tags)));
  document.paths = Object.fromEntries(Object.entries(document.paths).sort(([a], [b]) => (a < b ? -1 : 1)));
  return document;
}

function completeOperation(path: string, method: string, operation: Operation, schemas: Schemas): void {
  operation.tags = [path.split('/')[2] ?? 'service'];
  const isPublic = 'x-public' in operation;
  if (isPublic) operation.security = [];
  if (method === 'post' && !isPublic && !takesBytes(operation)) describeIdempotency(operation);
  for (const status of failuresOf(path, operation, isPublic, schemas)) {
    operation.responses[status] ??= failure(FAILURE_OF[status] ?? 'BadRequest');
  }
}

/** Puts references in the place of what many operations take, and returns it by name. */
function shareParameters(paths: OpenAPIObject['paths']): Record<string, Parameter> {
  const operations = Object.values(paths).flatMap(item => METHODS.flatMap(method => item[method] ?? []));
  const all = operations.flatMap(({ parameters = [] }) => parameters).map(each => JSON.stringify(each));
  const shared: Record<string, Parameter> = {};
  for (const operation of operations)
    operation.parameters = operation.parameters?.map(parameter => {
      const json = JSON.stringify(parameter);
      if ('$ref' in parameter || all.filter(each => each === json).length < MIN_SHARED) return parameter;
      shared[parameter.name] = parameter;
      return { $ref: `#/components/parameters/${parameter.name}` };
    });
  return shared;
}

/** Whether a query or body names something by id that the caller may not see. */
function namesOthers(operation: Operation, schemas: Schemas): boolean {
  const query = (operation.parameters ?? []).map(parameter => ('name' in parameter ? parameter.name : ''));
  const body = JSON.stringify(operation.requestBody ?? {}).match(/schemas\/(\w+)/)?.[1] ?? '';
  const schema = schemas[body];
  const fields = schema && 'properties' in schema ? Object.keys(schema.properties ?? {}) : [];
  return [...query, ...fields].some(name => /_ids?$/.test(name));
}

const takesBytes = (operation: Operation) =>
  JSON.stringify(operation.requestBody ?? {}).includes('application/octet-stream');

function describeIdempotency(operation: Operation): void {
  operation.parameters = [...(operation.parameters ?? []), IDEMPOTENCY_HEADER];
  for (const [status, name, description] of [
    ['409', 'StillRunning', RUNNING],
    ['422', 'InvalidOrReusedKey', REUSED],
  ] as const) {
    const known = operation.responses[status];
    if (known && 'description' in known) known.description += `; or: ${description}`;
    else operation.responses[status] = failure(name);
  }
}

const failure = (name: string) => ({ $ref: `#/components/responses/${name}` });

const problemResponse = (description: string) => ({
  description,
  content: { 'application/json': { schema: { $ref: '#/components/schemas/ProblemView' } } },
});

function failuresOf(path: string, operation: Operation, isPublic: boolean, schemas: Schemas): number[] {
  const statuses = [400, 500, 503, 507];
  if (!isPublic) statuses.push(401, 403);
  if (!path.startsWith('/api/health')) statuses.push(429);
  if (path.includes('{') || namesOthers(operation, schemas)) statuses.push(404);
  if (operation.requestBody) statuses.push(413, 415, 422);
  else if ((operation.parameters ?? []).some(parameter => 'in' in parameter && parameter.in === 'query'))
    statuses.push(422);
  return statuses;
}

/** The groups of routes, in the order in which a newcomer needs them: name (the path's first segment below /api) and purpose. */
const API_TAGS: readonly (readonly [name: string, description: string])[] = [
  ['agent', 'Send messages to agents; watch, steer, stop and undo their runs; decide on what they ask'],
  ['chats', 'The conversations: list, read, rename, pin, archive, delete'],
  ['workspaces', 'Workspaces, their files, search, tools, history, members, network access and budgets'],
  ['operations', 'Long work such as duplicating a workspace: progress, result, cancelling'],
  ['share', 'Public links to files and folders, and the list of all that is reachable from outside'],
  ['file-invitations', 'Files and folders shared with a person by mail'],
  ['templates', 'Workspaces that are published, and made anew'],
  ['git-repos', 'Git repositories in workspaces: clone, commit, pull, push'],
  ['integrations', 'Accounts at services of others, and requests with credentials that nobody sees'],
  ['connectors', 'Remote MCP servers, and which of their tools agents may call'],
  ['sites', 'Sites, their versions and hosts'],
  ['forms', 'Forms that people without an account fill in, and their responses'],
  ['site-access', 'Who may open a site, and the tokens with which programs do'],
  ['tunnels', 'Servers: programs that run for long and answer on a host of their own'],
  ['tunnel-access', 'Who may open a server, and the tokens with which programs do'],
  ['loops', 'Loops: a task that an agent repeats until what was pinned holds'],
  ['automation', 'Automations: what runs by itself, what came in for it, and how that went'],
  ['notifications', 'What you are told: the inbox, and what reaches you where and when'],
  ['models', 'The language models that can be used'],
  ['actions', 'The catalog of everything that agents and programs can do, with search and schemas'],
  ['action-runs', 'What was done through the catalog, by whom, with which result'],
  ['actions-exec', 'The catalog for programs in a sandbox, with a token of their own'],
  ['auth', 'Accounts: registering, signing in, profile, sessions, passwords'],
  ['keys', 'API keys of your own'],
  ['service-accounts', 'Accounts for programs, and their keys'],
  ['organizations', 'Organizations, members, invitations, models, billing, audit log'],
  ['invitations', 'Invitations to organizations, as seen by those who are invited'],
  ['oauth', 'Applications that you let in, and how to put them out again'],
  ['health', 'Whether the service is up'],
];

/** Those of the groups that `used` has, in order, and after them any that has no description yet. */
function describeTags(used: ReadonlySet<string>): { name: string; description?: string }[] {
  const known = API_TAGS.filter(([name]) => used.has(name)).map(([name, description]) => ({
    name,
    description,
  }));
  const others = [...used].filter(tag => known.every(({ name }) => name !== tag)).sort();
  return [...known, ...others.map(name => ({ name }))];
}
