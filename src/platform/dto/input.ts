import {
  ArgumentMetadata,
  createParamDecorator,
  ExecutionContext,
  Injectable,
  PipeTransform,
} from '@nestjs/common';
import { getMetadataStorage, ValidationError, validateSync } from 'class-validator';
import type { FastifyRequest } from 'fastify';
import { readBody } from '../bodies/index.js';
import { Invalid, NotFound, UnsupportedMediaType } from '../errors/index.js';
import { FieldSpec, fieldsOf, nullMeansAbsent, Shape } from './field.js';

/**
 * class-validator looks through the rules of every class that there is each time it checks one. The rules of a class stay
 * the same once it is declared, so they are looked up once.
 */
function rememberRules(): void {
  const storage = getMetadataStorage();
  const lookUp = storage.getTargetValidationMetadatas.bind(storage);
  type LookUp = typeof storage.getTargetValidationMetadatas;
  const known = new Map<Parameters<LookUp>[0], ReturnType<LookUp>>();
  storage.getTargetValidationMetadatas = (target, schema, always, strictGroups, groups) => {
    if (schema || always || strictGroups || groups?.length)
      return lookUp(target, schema, always, strictGroups, groups);
    const found = known.get(target) ?? lookUp(target, schema, always, strictGroups, groups);
    known.set(target, found);
    return found;
  };
}

rememberRules();

/** What is wrong with an instance by the rules of its class, at most one thing for each property. */
export function faultsOf(instance: object): ValidationError[] {
  return validateSync(instance, { stopAtFirstError: true, forbidUnknownValues: false });
}

const MAX_JSON_DEPTH = 64;

/** What a request holds before it is checked. */
interface RawInput {
  params: Record<string, string>;
  query: Record<string, unknown>;
  body: unknown;
}

const snakeCase = (name: string) => name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`);

/** The name of the input field that a path parameter fills: `{workspaceId}` fills `workspace_id`. */
export function fieldOfParam(param: string): string {
  return param === 'orgId' ? 'organization_id' : snakeCase(param);
}

/**
 * Makes an instance of `shape` of untrusted JSON: known fields only, nested shapes too, nothing else touched. Null leaves
 * an optional field out, as models and typed clients mean it, unless null is one of its values.
 */
export function hydrate(shape: Shape, plain: unknown, path = ''): object {
  if (typeof plain !== 'object' || plain === null || Array.isArray(plain))
    throw new Invalid(`${path ? path.slice(0, -1) : 'The body'} must be a JSON object`);
  const fields = fieldsOf(shape);
  const instance = Object.create(shape.prototype) as Record<string, unknown>;
  for (const [name, value] of Object.entries(plain)) {
    const spec = fields.get(name);
    if (!spec) throw new Invalid(`${path}${name.slice(0, 100)} is not a field of this request`);
    if (value !== null || !nullMeansAbsent(spec))
      instance[name] = hydrateField(spec, value, `${path}${name}`);
  }
  return instance;
}

function hydrateField(spec: FieldSpec, value: unknown, path: string): unknown {
  // Before its items are looked at, each of which costs something.
  if (spec.list && Array.isArray(value) && value.length > spec.maxItems)
    throw new Invalid(`${path} must contain no more than ${spec.maxItems} elements`);
  if (spec.kind === 'json' || spec.kind === 'record') return shallowEnough(value, path);
  const { shape } = spec;
  if (!shape || value === null || value === undefined) return value;
  if (!spec.list) return hydrate(shape(), value, `${path}.`);
  if (!Array.isArray(value)) throw new Invalid(`${path} must be a list`);
  return value.map((item, index) => hydrate(shape(), item, `${path}[${index}].`));
}

function shallowEnough(value: unknown, path: string): unknown {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_JSON_DEPTH) throw new Invalid(`${path} is nested more than ${MAX_JSON_DEPTH} deep`);
    level = level.flatMap(item => (typeof item === 'object' && item !== null ? Object.values(item) : []));
  }
  return value;
}

/** Query values are text; those of number and boolean fields become what they say. */
function coerce(spec: FieldSpec | undefined, value: unknown): unknown {
  if (spec?.list && !Array.isArray(value)) return [coerce({ ...spec, list: false }, value)];
  if (typeof value !== 'string' || !spec) return value;
  if ((spec.kind === 'integer' || spec.kind === 'number') && /^-?\d+(\.\d+)?$/.test(value))
    return Number(value);
  if (spec.kind === 'boolean' && /^(true|false|1|0)$/.test(value)) return value === 'true' || value === '1';
  return value;
}

/** The first thing wrong, as one sentence that begins with the field's path. */
export function firstMessage([error]: ValidationError[], path = ''): { field: string; text: string } {
  if (!error) return { field: '', text: 'The request is not valid' };
  const [text] = Object.values(error.constraints ?? {});
  if (text) return { field: path + error.property, text: path + text };
  const isItem = /^\d+$/.test(error.property);
  const here = isItem ? `${path.slice(0, -1)}[${error.property}].` : `${path}${error.property}.`;
  return firstMessage(error.children ?? [], here);
}

/** Checks a hydrated instance; throws {@link Invalid} with the first finding. */
export function assertValid(instance: object): void {
  const errors = faultsOf(instance);
  if (errors.length > 0) throw new Invalid(firstMessage(errors).text);
}

function merge(shape: Shape, { params, query, body }: RawInput): Record<string, unknown> {
  const fields = fieldsOf(shape);
  // Without a prototype, so that `__proto__` is a field like any other: an unknown one.
  const merged: Record<string, unknown> = Object.create(null);
  for (const [name, value] of Object.entries(query)) merged[name] = coerce(fields.get(name), value);
  if (body !== undefined && body !== null) Object.assign(merged, jsonObject(body));
  for (const [param, value] of Object.entries(params)) {
    const name = fieldOfParam(param);
    if (name in merged) throw new Invalid(`${name} is already given by the address`);
    merged[name] = value;
  }
  return merged;
}

function jsonObject(body: unknown): object {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new Invalid('The body must be a JSON object');
  if ('pipe' in body && typeof body.pipe === 'function')
    throw new UnsupportedMediaType('Send the body as JSON, with Content-Type: application/json');
  return body;
}

/** Turns path parameters, query and body into the one input shape of a capability, validated. */
@Injectable()
export class InputPipe implements PipeTransform<RawInput, object> {
  transform(raw: RawInput, { metatype }: ArgumentMetadata): object {
    const shape = metatype as Shape;
    const instance = hydrate(shape, merge(shape, raw));
    const errors = faultsOf(instance);
    if (errors.length === 0) return instance;
    const { field, text } = firstMessage(errors);
    const fromPath = Object.keys(raw.params).some(param => fieldOfParam(param) === field);
    throw fromPath ? new NotFound('Nothing has this id') : new Invalid(text);
  }
}

/** The pipe awaits it. */
const rawInput = createParamDecorator(
  async (withBody: boolean, context: ExecutionContext): Promise<RawInput> => {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    return {
      params: request.params as Record<string, string>,
      query: request.query as Record<string, unknown>,
      body: withBody ? await readBody(request) : undefined,
    };
  },
);

/** The capability's whole input, from wherever the request holds it; its class is the parameter's type. */
export const Input = () => rawInput(true, InputPipe);

/** As {@link Input} where the body is raw bytes and so no part of it. */
export const InputBesideBody = () => rawInput(false, InputPipe);
