import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { DocumentBuilder, OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { IDEMPOTENCY_KEY, MOST_ANSWER_BYTES } from './idempotency.js';

type Operation = NonNullable<OpenAPIObject['paths'][string]['get']>;
type Schemas = NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>;
const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;

/** What holds for every route. */
const ABOUT = [
  'A workspace for teams and agents. Errors are `{"detail": "<one sentence>"}`.',
  'Requests a minute are limited for each credential, and for each address (IPv6: each /64) without a valid one. The ' +
    'headers `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers) tell the limit `q`, what is left ' +
    'of it `r`, and the seconds `t` until the minute is over; beyond it comes 429 with `Retry-After`. Where several ' +
    'processes serve, each of them may let through a tenth of the limit, and what reaches it within 0.2 seconds, before ' +
    'it knows of the others.',
].join('\n\n');

const IDEMPOTENCY_HEADER = {
  name: IDEMPOTENCY_KEY,
  in: 'header' as const,
  required: false,
  description:
    'Any text of your own, best a random UUID, that names this request: sent twice, it runs once. For 24 hours the same ' +
    'credential, key and request get the first answer again, with `Idempotent-Replayed: true`; another request with the ' +
    'same key gets 422, and one that comes while the first still runs 409. Not kept, so that a repetition runs again: ' +
    `answers of 5xx and 429, streams, and bodies above ${MOST_ANSWER_BYTES / 1024} KiB. Kept answers are encrypted with ` +
    'the key.',
  schema: { type: 'string' as const, minLength: 1, maxLength: 255, pattern: '^[\\x20-\\x7e]+$' },
  example: '5f0c6a3e-8f0b-4c8e-9d5e-2f6f1f6f4a11',
};

const DETAILS: Record<number, string> = {
  400: 'Malformed JSON or query',
  401: 'No valid credential',
  403: 'Visible, but not allowed',
  404: 'Unknown, or not visible to the caller',
  413: 'Larger than allowed',
  415: 'Not a media type that this takes',
  422: 'A field is not valid; the detail names it',
  429: 'More requests a minute than allowed; Retry-After says when to come back',
  500: 'A fault of ours',
  503: 'The database, or what the request needs, cannot be had right now; Retry-After says when to come back',
};

/** The whole interface description: what the routes say, and the failures that follow from what each takes. */
export function describeApi(app: NestFastifyApplication): OpenAPIObject {
  const config = new DocumentBuilder()
    .setTitle('Atelier')
    .setDescription(ABOUT)
    .setVersion('0.1.0')
    .addApiKey({ type: 'apiKey', in: 'header', name: 'X-API-Key' }, 'api_key')
    .addBearerAuth({ type: 'http', scheme: 'bearer', bearerFormat: 'JWT' }, 'access_token')
    .addBearerAuth(
      { type: 'http', scheme: 'bearer', description: 'Given to sandboxes, sites, servers and automations' },
      'exec_token',
    )
    .addSecurityRequirements('api_key')
    .addSecurityRequirements('access_token')
    .build();
  const document = SwaggerModule.createDocument(app, config, { autoTagControllers: false });
  for (const [path, item] of Object.entries(document.paths))
    for (const method of METHODS)
      if (item[method]) completeOperation(path, method, item[method], document.components?.schemas ?? {});
  document.paths = Object.fromEntries(Object.entries(document.paths).sort(([a], [b]) => (a < b ? -1 : 1)));
  return document;
}

function completeOperation(path: string, method: string, operation: Operation, schemas: Schemas): void {
  operation.tags = [path.split('/')[2] ?? 'service'];
  const isPublic = 'x-public' in operation;
  if (isPublic) operation.security = [];
  if (method === 'post' && !isPublic && !takesBytes(operation)) describeIdempotency(operation);
  for (const status of failuresOf(path, operation, isPublic, schemas)) {
    operation.responses[status] ??= problemResponse(DETAILS[status] ?? '');
  }
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
  for (const [status, description] of [
    ['409', 'The first request with this Idempotency-Key is still running'],
    ['422', 'This Idempotency-Key was used for another request'],
  ] as const) {
    const known = operation.responses[status];
    if (known && 'description' in known) known.description += `; or: ${description}`;
    else
      operation.responses[status] = problemResponse(
        status === '422' ? `${DETAILS[422]}; or: ${description}` : description,
      );
  }
}

const problemResponse = (description: string) => ({
  description,
  content: { 'application/json': { schema: { $ref: '#/components/schemas/ProblemView' } } },
});

function failuresOf(path: string, operation: Operation, isPublic: boolean, schemas: Schemas): number[] {
  const statuses = [400, 500, 503];
  if (!isPublic) statuses.push(401, 403);
  if (!path.startsWith('/api/health')) statuses.push(429);
  if (path.includes('{') || namesOthers(operation, schemas)) statuses.push(404);
  if (operation.requestBody) statuses.push(413, 415, 422);
  else if ((operation.parameters ?? []).some(parameter => 'in' in parameter && parameter.in === 'query'))
    statuses.push(422);
  return statuses;
}
