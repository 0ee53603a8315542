import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { BadRequest } from './problem.js';
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

/** JSON is read whole, strictly; a body of any other type is handed on as a stream to the routes that take raw bytes. */
export function registerBodyParsers(fastify: FastifyInstance, jsonLimit: number): void {
  answerUnreadBodies(fastify);
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser(
    'application/json',
    async (request: FastifyRequest, payload: IncomingMessage) => {
      if ('rawBody' in request.routeOptions.config) return payload;
      return parseJson(await wholeBody(payload, jsonLimit));
    },
  );
  fastify.addContentTypeParser('*', async (_request: FastifyRequest, payload: IncomingMessage) => payload);
}
