import {
  ArgumentMetadata,
  createParamDecorator,
  ExecutionContext,
  Injectable,
  PipeTransform,
} from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { readBody } from '#libs/fastify-hardening/index.js';
import { coerce, fieldsOf, InvalidInput, parseInput, type Shape } from '#libs/fields/index.js';
import { Invalid, NotFound, UnsupportedMediaType } from '../errors/index.js';

/** What a request holds before it is checked. */
interface RawInput {
  params: Record<string, string>;
  query: Record<string, unknown>;
  body: unknown;
}

const snakeCase = (name: string) => name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`);

/** Names of parameters stand in our routes: there are a few. */
const fieldsOfParams = new Map([['orgId', 'organization_id']]);

/** The name of the input field that a path parameter fills: `{workspaceId}` fills `workspace_id`. */
export function fieldOfParam(param: string): string {
  const known = fieldsOfParams.get(param);
  if (known !== undefined) return known;
  const field = snakeCase(param);
  fieldsOfParams.set(param, field);
  return field;
}

/** Checks untrusted JSON by `shape`. Throws {@link Invalid} with the first finding. */
export function checked<T extends object>(shape: abstract new () => T, plain: unknown): T {
  try {
    return parseInput(shape, plain) as T;
  } catch (error) {
    throw error instanceof InvalidInput ? new Invalid(error.message) : error;
  }
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
    merged[name] = coerce(fields.get(name), value);
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
    const plain = merge(shape, raw);
    try {
      return parseInput(shape, plain);
    } catch (error) {
      if (!(error instanceof InvalidInput)) throw error;
      const fromPath = Object.keys(raw.params).some(param => fieldOfParam(param) === error.field);
      throw fromPath ? new NotFound('Nothing has this id') : new Invalid(error.message);
    }
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
