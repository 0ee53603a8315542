import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { DocumentBuilder, OpenAPIObject, SwaggerModule } from '@nestjs/swagger';

type Operation = NonNullable<OpenAPIObject['paths'][string]['get']>;
type Schemas = NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>;
const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;

const DETAILS: Record<number, string> = {
  400: 'Malformed JSON or query',
  401: 'No valid credential',
  403: 'Visible, but not allowed',
  404: 'Unknown, or not visible to the caller',
  413: 'Larger than allowed',
  415: 'Not a media type that this takes',
  422: 'A field is not valid; the detail names it',
  500: 'A fault of ours',
};

/** The whole interface description: what the routes say, and the failures that follow from what each takes. */
export function describeApi(app: NestFastifyApplication): OpenAPIObject {
  const config = new DocumentBuilder()
    .setTitle('Atelier')
    .setDescription('A workspace for teams and agents. Errors are `{"detail": "<one sentence>"}`.')
    .setVersion('0.1.0')
    .addApiKey({ type: 'apiKey', in: 'header', name: 'X-API-Key' }, 'api_key')
    .addBearerAuth({ type: 'http', scheme: 'bearer', bearerFormat: 'JWT' }, 'access_token')
    .addSecurityRequirements('api_key')
    .addSecurityRequirements('access_token')
    .build();
  const document = SwaggerModule.createDocument(app, config, { autoTagControllers: false });
  for (const [path, item] of Object.entries(document.paths))
    for (const method of METHODS)
      if (item[method]) completeOperation(path, item[method], document.components?.schemas ?? {});
  document.paths = Object.fromEntries(Object.entries(document.paths).sort(([a], [b]) => (a < b ? -1 : 1)));
  return document;
}

function completeOperation(path: string, operation: Operation, schemas: Schemas): void {
  operation.tags = [path.split('/')[2] ?? 'service'];
  const isPublic = 'x-public' in operation;
  if (isPublic) operation.security = [];
  for (const status of failuresOf(path, operation, isPublic, schemas)) {
    operation.responses[status] ??= {
      description: DETAILS[status] ?? '',
      content: { 'application/json': { schema: { $ref: '#/components/schemas/ProblemView' } } },
    };
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

function failuresOf(path: string, operation: Operation, isPublic: boolean, schemas: Schemas): number[] {
  const statuses = [400, 500];
  if (!isPublic) statuses.push(401, 403);
  if (path.includes('{') || namesOthers(operation, schemas)) statuses.push(404);
  if (operation.requestBody) statuses.push(413, 415, 422);
  else if ((operation.parameters ?? []).some(parameter => 'in' in parameter && parameter.in === 'query'))
    statuses.push(422);
  return statuses;
}
