import {
  applyDecorators,
  Controller,
  Delete,
  Get,
  HttpCode,
  Patch,
  Post,
  Put,
  RequestMethod,
  SetMetadata,
  type Type,
  UseInterceptors,
} from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import {
  ApiBody,
  ApiConsumes,
  ApiExtension,
  ApiOperation,
  ApiParam,
  ApiQuery,
  ApiResponse,
  OmitType,
} from '@nestjs/swagger';
import { FieldSpec, fieldsOf, Shape } from '#libs/fields/index.js';
import { Caller, EXPOSES, SESSION_ONLY } from '../access/index.js';
import { ActionDeclaration, actionOf, declarationOf, subjectsOf } from '../actions/index.js';
import { Field, fieldOfParam, Input } from '../dto/index.js';
import { IdempotencyInterceptor, OUTCOME, type Outcome } from '../idempotency/index.js';

/** The body of every error. */
export class ProblemView {
  @Field.text('What is wrong, in one sentence a person can act on', { example: 'No such workspace' })
  detail: string;
}

type Service<M extends string> = { prototype: Record<M, (...args: never[]) => unknown> };
type ConcreteShape = new () => object;

interface RouteOptions {
  /** The success status; 200 unless the specification says otherwise. */
  status?: number;
  /** The success body is not JSON: its media types, e.g. `text/event-stream`. */
  produces?: string[];
  /** The request body is raw bytes. */
  takesBytes?: boolean;
}

/**
 * Marks a route as the HTTP projection of a capability: the declaration of `service.method` documents it. Stands above
 * `@Get`, `@Post` …, whose full path it reads.
 */
export function Serves<M extends string>(
  service: Service<M>,
  method: M,
  options: RouteOptions = {},
): MethodDecorator {
  const action = actionOf(service.prototype[method]);
  return document(action, options, () => {
    const { name, effect, permission } = action;
    const on = Object.fromEntries(subjectsOf(action));
    return Object.entries({ action: name, effect, permission, on })
      .filter(([, value]) => value !== null)
      .map(([key, value]) => ApiExtension(`x-${key}`, value));
  });
}

/** As {@link Serves}, for the few routes that are no capability (health, sign-in); their names follow the same rule. */
export function Documents(
  declaration: Omit<ActionDeclaration, 'effect' | 'permission'>,
  options: RouteOptions = {},
): MethodDecorator {
  return document({ ...declaration, effect: 'read', permission: null }, options);
}

function document(
  action: ActionDeclaration,
  options: RouteOptions,
  extensions: () => MethodDecorator[] = () => [],
): MethodDecorator {
  return (target, key, descriptor) => {
    const handler = descriptor.value as object;
    const path: string = Reflect.getMetadata(PATH_METADATA, handler);
    const method = RequestMethod[Reflect.getMetadata(METHOD_METADATA, handler)] ?? 'GET';
    const decorators = [
      HttpCode(options.status ?? 200),
      ...(action.sessionOnly ? [SetMetadata(SESSION_ONLY, true)] : []),
      ...(action.effect === 'expose' ? [SetMetadata(EXPOSES, action.name)] : []),
      ...(method === 'POST' && !options.takesBytes
        ? [UseInterceptors(IdempotencyInterceptor), SetMetadata(OUTCOME, outcomeOf(action))]
        : []),
    ];
    applyDecorators(...decorators)(target, key, descriptor);
    undocumented.push(() => {
      const docs = [
        ApiOperation({
          summary: action.summary,
          description: action.description,
          // `workspace_budget_set` is `workspace_budget.set`: the noun is all but the last word.
          operationId: action.name.replace(/_(?=[^_]+$)/, '.'),
        }),
        ...extensions(),
        ...(action.sessionOnly ? [ApiExtension('x-session-only', true)] : []),
        ...inputDocs(action, path, method, options),
        successDocs(action, options),
        ...Object.entries(action.refuses ?? {}).map(([status, description]) =>
          ApiResponse({ status: Number(status), description, type: ProblemView }),
        ),
      ];
      applyDecorators(...docs)(target, key, descriptor);
    });
  };
}

/** What adds the documentation of routes to them. */
const undocumented: (() => void)[] = [];

/** Documents the routes that are not yet: most processes are never asked for that, and would start later by it. */
export function documentRoutes(): void {
  for (const add of undocumented.splice(0)) add();
}

const outcomeOf = ({ commitsAnswer, evidence }: ActionDeclaration): Outcome => ({
  commitsAnswer: commitsAnswer === true,
  evidence: evidence ?? 'read what it was to change',
});

function successDocs(
  { output }: ActionDeclaration,
  { status = 200, produces }: RouteOptions,
): MethodDecorator {
  if (!produces) return ApiResponse({ status, description: 'Done', type: output as ConcreteShape });
  const content = Object.fromEntries(
    produces.map(type => [
      type,
      { schema: { type: 'string', format: type.startsWith('text/') ? undefined : 'binary' } },
    ]),
  );
  return ApiResponse({ status, description: 'Done', content });
}

function inputDocs(
  action: ActionDeclaration,
  path: string,
  method: string,
  options: RouteOptions,
): MethodDecorator[] {
  const fields = action.input ? fieldsOf(action.input) : new Map<string, FieldSpec>();
  const params = [...path.matchAll(/:(\w+)/g)].map(([, param]) => param as string);
  const inPath = new Set(params.map(fieldOfParam));
  const docs: MethodDecorator[] = params.map(param =>
    ApiParam({ name: param, ...schemaOf(fields.get(fieldOfParam(param))), required: true }),
  );
  const rest = [...fields].filter(([name]) => !inPath.has(name));
  const asQuery = method === 'GET' || method === 'DELETE' || options.takesBytes;
  if (asQuery)
    docs.push(...rest.map(([name, spec]) => ApiQuery({ name, required: !spec.optional, ...schemaOf(spec) })));
  else if (action.input && rest.length > 0)
    docs.push(
      ApiBody({
        type: bodyShape(action.input, inPath),
        required: rest.some(([, spec]) => !spec.optional),
        examples: { minimal: { summary: 'The least that it takes', value: exampleOf(rest) } },
      }),
    );
  if (options.takesBytes)
    docs.push(
      ApiConsumes('application/octet-stream'),
      ApiBody({ schema: { type: 'string', format: 'binary' } }),
    );
  return docs;
}

/** The least that a request takes: what is required, and what is worth showing. */
function exampleOf(fields: Iterable<readonly [string, FieldSpec]>): Record<string, unknown> {
  return Object.fromEntries(
    [...fields]
      .filter(([, spec]) => spec.shown)
      .map(([name, spec]) => [
        name,
        spec.shape && !spec.list ? exampleOf(fieldsOf(spec.shape())) : spec.example,
      ]),
  );
}

function schemaOf(spec: FieldSpec | undefined) {
  const types: Partial<Record<FieldSpec['kind'], string>> = {
    integer: 'integer',
    number: 'number',
    boolean: 'boolean',
  };
  const formats: Partial<Record<FieldSpec['kind'], string>> = { id: 'uuid', time: 'date-time' };
  const kind = spec?.kind ?? 'text';
  const schema = {
    type: types[kind] ?? 'string',
    format: formats[kind],
    enum: spec?.values && [...spec.values],
    // The page at /docs prefills what has an example: only what a call must have.
    ...(spec?.shown && spec.example !== undefined ? { example: spec.example } : {}),
  };
  return { description: spec?.description, schema: spec?.list ? { type: 'array', items: schema } : schema };
}

/** The input without what the address already says, under a name of its own. */
function bodyShape(input: Shape, inPath: ReadonlySet<string>): ConcreteShape {
  if (inPath.size === 0) return input as ConcreteShape;
  const shape = OmitType(input as ConcreteShape, [...inPath] as never[]);
  Object.defineProperty(shape, 'name', { value: `${input.name}Body` });
  return shape;
}

const METHODS = { GET: Get, POST: Post, PUT: Put, PATCH: Patch, DELETE: Delete };

/**
 * The controller of a service: a route for each of its actions that declares one, which passes on the caller and the input.
 * Routes that stream, take raw bytes or are no actions are written by hand.
 */
export function RoutesOf(service: Type<object>): Type<object> {
  class Routes {
    constructor(readonly service: Record<string, (...args: unknown[]) => unknown>) {}
  }
  Object.defineProperty(Routes, 'name', { value: `${service.name}Routes` });
  Reflect.defineMetadata('design:paramtypes', [service], Routes);
  for (const [method, { value }] of Object.entries(Object.getOwnPropertyDescriptors(service.prototype)))
    if (typeof value === 'function') addRoute(Routes, service, method);
  Controller()(Routes);
  return Routes;
}

function addRoute({ prototype }: Type<{ service: object }>, service: Type<object>, method: string): void {
  const { route, input } = declarationOf(service.prototype[method]) ?? {};
  if (!route) return;
  const [verb, path] = route.split(' ') as [keyof typeof METHODS, string];
  prototype[method] = function (
    this: { service: Record<string, (...args: unknown[]) => unknown> },
    ...args: unknown[]
  ) {
    return this.service[method]?.(...args);
  };
  Caller()(prototype, method, 0);
  if (input) Input()(prototype, method, 1);
  Reflect.defineMetadata('design:paramtypes', input ? [Object, input] : [Object], prototype, method);
  const descriptor = Object.getOwnPropertyDescriptor(prototype, method) as TypedPropertyDescriptor<unknown>;
  METHODS[verb](path)(prototype, method, descriptor);
  Serves(service as never, method)(prototype, method, descriptor);
}
