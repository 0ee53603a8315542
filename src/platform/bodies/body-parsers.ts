import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { BadRequest } from '../errors/index.js';
import { JsonMeter } from './json-meter.js';
import { answerUnreadBodies } from './unread-body.js';
import { wholeBody } from './whole-body.js';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Route configuration of those that take raw bytes of whatever type: `@RouteConfig(RAW_BODY)`. */
export const RAW_BODY = { rawBody: true };

function parseJson(body: Buffer): unknown {
  if (body.length === 0) return undefined;
  let text: string;
  try {
    text = utf8.decode(body);
  } catch {
    throw new BadRequest('The body is not valid UTF-8');
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new BadRequest(`The body is not valid JSON: ${(error as Error).message.slice(0, 200)}`);
  }
}

/** What a caller without a credential may send: public routes take a few fields. */
const MAX_PUBLIC_BYTES = 64 * 1024;

/** A JSON body that nobody has read yet: who sends it, and so how much they may send, is found out first. */
class UnreadJson {
  private value: Promise<unknown> | undefined;

  constructor(
    private readonly payload: IncomingMessage,
    private readonly limit: number,
  ) {}

  read(isRecognised: boolean): Promise<unknown> {
    const limit = isRecognised ? this.limit : Math.min(this.limit, MAX_PUBLIC_BYTES);
    this.value ??= this.parsed(limit);
    return this.value;
  }

  private async parsed(limit: number): Promise<unknown> {
    const meter = new JsonMeter();
    return parseJson(await wholeBody(this.payload, limit, piece => meter.take(piece)));
  }
}

/**
 * The body of a request, which takes its place there: JSON parsed, of another type as a stream. To be called when the
 * guards have passed the request. Throws TooLarge where it is too long for who sends it.
 */
export async function readBody(request: FastifyRequest): Promise<unknown> {
  const { body } = request;
  if (!(body instanceof UnreadJson)) return body;
  const { user } = request as { user?: unknown };
  const value = await body.read(user !== undefined && user !== null);
  request.body = value;
  return value;
}

/**
 * JSON is read whole, strictly, by {@link readBody}; a body of any other type is handed on as a stream to the routes that
 * take raw bytes.
 */
export function registerBodyParsers(fastify: FastifyInstance, jsonLimit: number): void {
  answerUnreadBodies(fastify);
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser(
    'application/json',
    async (request: FastifyRequest, payload: IncomingMessage) =>
      'rawBody' in request.routeOptions.config ? payload : new UnreadJson(payload, jsonLimit),
  );
  fastify.addContentTypeParser('*', async (_request: FastifyRequest, payload: IncomingMessage) => payload);
}
