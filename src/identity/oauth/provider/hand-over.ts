import { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Provider } from 'oidc-provider';
import { wholeBody } from '../../../platform/bodies/index.js';

const MOST_BYTES = 56 * 1024;

/** A request as the authorization server is to see it. */
export interface ProviderRequest {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: Buffer;
}

const isLoopback = (host = ''): boolean => /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i.test(host);

/** The body of a request, read whole. */
export async function bodyOf({ body }: FastifyRequest): Promise<Buffer> {
  return body instanceof IncomingMessage ? wholeBody(body, MOST_BYTES) : Buffer.alloc(0);
}

/**
 * Lets the authorization server answer. Its addresses and cookies follow from the public address of the service, not from
 * what the headers of a request claim.
 */
export async function handOver(
  provider: Provider,
  request: FastifyRequest,
  reply: FastifyReply,
  { path, query, body }: ProviderRequest,
): Promise<void> {
  const { raw } = request;
  const message = new IncomingMessage(raw.socket);
  message.method = raw.method;
  message.url = query.size > 0 ? `${path}?${query}` : path;
  const { host, protocol } = new URL(provider.issuer);
  message.headers = {
    ...raw.headers,
    // A machine has several names for itself; any other comes from whoever sent the request.
    host: isLoopback(host) && isLoopback(raw.headers.host) ? raw.headers.host : host,
    'x-forwarded-proto': protocol.slice(0, -1),
  };
  delete message.headers['transfer-encoding'];
  delete message.headers['x-forwarded-host'];
  delete message.headers['content-length'];
  if (body.length > 0) {
    message.headers['content-length'] = String(body.length);
    message.push(body);
  }
  message.push(null);
  message.complete = true;
  for (const [name, value] of Object.entries(reply.getHeaders()))
    if (value !== undefined) reply.raw.setHeader(name, value);
  void reply.hijack();
  await provider.callback()(message, reply.raw);
}
