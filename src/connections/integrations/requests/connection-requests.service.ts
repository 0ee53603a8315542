import { Injectable } from '@nestjs/common';
import {
  isOverridingHeader,
  isOverridingParameter,
  overridingParameter,
  SecretForms,
} from '#libs/egress-proxy/index.js';
import { isExactNumber, parseJson, textOf } from '#libs/exact-json/index.js';
import { GuardedFetch, GuardedFetchError } from '#libs/guarded-fetch/index.js';
import type { Actor } from '../../../platform/access/index.js';
import { Action } from '../../../platform/actions/index.js';
import { beforeSideEffect } from '../../../platform/database/index.js';
import { Conflict, Forbidden, Invalid, TooLarge, Unavailable } from '../../../platform/errors/index.js';
import type { CredentialHeader } from '../oauth/credential.js';
import { ProviderCatalog } from '../oauth/provider-catalog.js';
import { type GrantedConnection, GrantedConnections } from './granted-connections.js';
import { apiPath, isBelow, requestPath } from './request-path.js';
import { IntegrationRequest, IntegrationResponseView } from './requests.dto.js';

const TIMEOUT_MS = 30_000;
const MAX_BODY = 1024 * 1024;
const MAX_HEADERS = 20;
/** Headers that callers cannot set. */
const OWN_HEADERS =
  /^(authorization|cookie|host|content-length|transfer-encoding|connection|keep-alive|upgrade|te|trailer|expect|proxy-.*|x-forwarded-.*|forwarded|via|accept-encoding|accept-charset|range|if-range|a-im)$/i;
/** Response headers that callers do not get. */
const DROPPED_HEADERS = [
  'set-cookie',
  'content-encoding',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'alt-svc',
];

/** Codings that the client takes off before an answer is looked at. */
const DECODED = /^(?:[\s,]|identity|x-gzip|gzip|deflate|br|zstd)*$/i;

interface Prepared {
  readonly url: URL;
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body: string | undefined;
}

/** Requests to services of others, with credentials that the caller never sees. */
@Injectable()
export class ConnectionRequestsService {
  constructor(
    private readonly granted: GrantedConnections,
    private readonly catalog: ProviderCatalog,
    private readonly outgoing: GuardedFetch,
  ) {}

  @Action('integration_request', 'POST /api/integrations/:id/request', {
    summary: 'Send a request to the API of a connected service, with its credential',
    description:
      'It goes to hosts of the provider alone, and to the methods and paths that are granted to the workspace. Redirects are ' +
      'handed back. The answer may have 1 MiB; one that holds the credential is withheld. GET and HEAD count as read, DELETE ' +
      'as destructive, others as write.',
    effectOf: ({ method }) =>
      method === 'GET' || method === 'HEAD' ? 'read' : method === 'DELETE' ? 'destructive' : 'write',
    consequence: 'The service does what the request asks for, as the account that is connected.',
    permission: 'connection.use',
    input: IntegrationRequest,
    output: IntegrationResponseView,
    evidence: 'look at the service whether it was done',
    refuses: {
      404: 'No such connection or workspace',
      409: 'It has to be authorized again, or the answer cannot be handed on',
      503: 'The service cannot be reached',
    },
  })
  async request(actor: Actor, input: IntegrationRequest): Promise<IntegrationResponseView> {
    const connection = await this.granted.require(actor, input.id, input.workspace_id);
    const prepared = await this.prepare(connection, input);
    beforeSideEffect();
    return this.granted.use(
      connection,
      credential => this.send(connection, prepared, credential),
      ({ status }) => status === 401,
    );
  }

  private async prepare(connection: GrantedConnection, input: IntegrationRequest): Promise<Prepared> {
    const { method, query = {}, body } = input;
    const url = this.resolveUrl(connection, input.path);
    if (connection.methods.length > 0 && !connection.methods.includes(method))
      throw new Forbidden(
        `This workspace may send ${connection.methods.join(', ')} by ${connection.name}, not ${method}`,
      );
    if (!isBelow(url.pathname, pathsAt(connection, url)))
      throw new Forbidden(
        `This workspace may reach ${connection.paths.join(', ')} by ${connection.name}, not this path`,
      );
    for (const [name, value] of Object.entries(query)) {
      if (!isExactNumber(value) && !['string', 'number', 'boolean'].includes(typeof value))
        throw new Invalid(`query.${name.slice(0, 60)} must be text, a number or true or false`);
      url.searchParams.append(name, textOf(value));
    }
    const definition = await this.catalog.require(connection.organization_id, connection.provider);
    const headers = { ...definition.api.headers, ...checkHeaders(connection, input.headers ?? {}) };
    const prepared = { url, method, ...encodeBody(method, body, headers) };
    requireOneMethod(method, url, prepared);
    return prepared;
  }

  /** A path below the base address, or a whole address of one of the provider's hosts. */
  private resolveUrl({ base_url, hosts }: GrantedConnection, path: string): URL {
    if (path.startsWith('/')) return new URL(base_url + requestPath(path));
    const url = URL.parse(path);
    const base = new URL(base_url);
    if (!url || url.username || url.password || url.hash || url.search)
      throw new Invalid('path must begin with /, or be an address without user name, query and fragment');
    if (!hosts.includes(url.host) || url.protocol !== base.protocol)
      throw new Invalid(`path must be on ${hosts.join(', ')}`);
    const [, afterHost = '/'] = /^[a-z]+:\/\/[^/]+(\/.*)$/i.exec(path) ?? [];
    return new URL(requestPath(afterHost), url.origin);
  }

  private async send(
    connection: GrantedConnection,
    { url, method, headers, body }: Prepared,
    { name, value, traces }: CredentialHeader,
  ): Promise<IntegrationResponseView> {
    try {
      this.outgoing.refuseUnreachable(url);
      const sent = { ...headers, 'accept-encoding': 'identity', [name]: value.reveal() };
      const init = { method, headers: sent, body, redirect: 'manual', timeoutMs: TIMEOUT_MS } as const;
      const response = await this.outgoing.fetch(url, init);
      const bytes = Buffer.from(await response.arrayBuffer());
      const shown = Object.fromEntries(
        [...response.headers].filter(([each]) => !DROPPED_HEADERS.includes(each)),
      );
      const forms = new SecretForms([value, ...traces].map(secret => secret.reveal()));
      requireClean(forms, response.headers, bytes);
      return { status: response.status, headers: shown, ...decodeContent(bytes, response.headers) };
    } catch (error) {
      if (error instanceof Conflict) throw error;
      if (error instanceof GuardedFetchError && error.refusal === 'size')
        throw new Conflict('The answer is larger than 1 MiB; ask for less of it');
      const why = error instanceof GuardedFetchError ? error.message : 'it gave no answer';
      throw new Unavailable(`${connection.name} cannot be reached: ${why}`);
    }
  }
}

/** The granted paths of a host in full, as for requests from sandboxes. */
function pathsAt({ base_url, paths }: GrantedConnection, { host }: URL): string[] {
  const base = new URL(base_url);
  const prefix = host === base.host ? base.pathname.replace(/\/$/, '') : '';
  return paths.map(path => apiPath(prefix, path));
}

/** Refuses parameters by which a service takes another method than the one that was asked for. */
function requireOneMethod(
  method: string,
  url: URL,
  { headers, body = '' }: Pick<Prepared, 'headers' | 'body'>,
): void {
  const parameter =
    overridingParameter(url.search.slice(1), method) ?? overridingField(method, headers, body);
  if (parameter !== undefined)
    throw new Invalid(
      `${parameter.slice(0, 60)} must not name another method than ${method}: send it as method instead`,
    );
}

/** A part of a form named after a method, and the word that it begins with. The bounds keep the search linear. */
const METHOD_PART =
  /\bname="?([\w-]{0,8}method[\w-]{0,10})"?[^\r\n]{0,200}\r?\n(?:[^\r\n]{1,200}\r?\n){0,5}\r?\n([a-z]{3,8})\b/gi;

/** The field of a body that names another method. */
function overridingField(method: string, headers: Prepared['headers'], body: string): string | undefined {
  const type = headers['content-type'] ?? '';
  if (/^application\/x-www-form-urlencoded\b/i.test(type)) return overridingParameter(body, method);
  const parts = /^multipart\//i.test(type) ? body.matchAll(METHOD_PART) : [];
  for (const [, name = '', value = ''] of parts) if (isOverridingParameter(name, value, method)) return name;
  const fields = /json\b/i.test(type) ? parseFields(body) : [];
  return fields.find(([name, value]) => isOverridingParameter(name, String(value), method))?.[0];
}

function parseFields(json: string): [string, unknown][] {
  try {
    return Object.entries(JSON.parse(json) as object);
  } catch {
    return [];
  }
}

function checkHeaders({ header }: GrantedConnection, given: Record<string, unknown>): Record<string, string> {
  const entries = Object.entries(given);
  if (entries.length > MAX_HEADERS) throw new Invalid(`headers must be at most ${MAX_HEADERS}`);
  return Object.fromEntries(
    entries.map(([name, value]) => {
      const lower = name.toLowerCase();
      if (!/^[a-z][a-z0-9-]{0,59}$/.test(lower))
        throw new Invalid('headers must have names such as x-request-id');
      if (isOverridingHeader(lower))
        throw new Invalid(`headers must not have ${lower}: name method and path of the request itself`);
      if (OWN_HEADERS.test(lower) || lower === header.toLowerCase())
        throw new Invalid(`headers must not have ${lower}: the service sets it`);
      if (typeof value !== 'string' || !/^[\x20-\x7e]{0,4096}$/.test(value))
        throw new Invalid(`headers.${lower} must be at most 4096 plain characters`);
      return [lower, value];
    }),
  );
}

function encodeBody(method: string, body: unknown, headers: Record<string, string>) {
  if (body === undefined || body === null) return { headers, body: undefined };
  if (method === 'GET' || method === 'HEAD') throw new Invalid(`body must be left out of a ${method}`);
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  if (Buffer.byteLength(text) > MAX_BODY) throw new TooLarge(`body must have at most ${MAX_BODY} bytes`);
  const type = typeof body === 'string' ? 'text/plain; charset=utf-8' : 'application/json';
  return { headers: { 'content-type': type, ...headers }, body: text };
}

/** A server that repeats what it was sent must not give the credential to whoever asked. */
function requireClean(forms: SecretForms, headers: Headers, bytes: Buffer): void {
  const encoding = headers.get('content-encoding') ?? '';
  if (bytes.length > 0 && !DECODED.test(encoding))
    throw new Conflict(
      `The service encoded its answer (Content-Encoding: ${encoding.slice(0, 40)}) though it was asked not to, so it is withheld`,
    );
  if (forms.isIn(Buffer.from([...headers].flat().join('\n'), 'latin1')) || forms.isIn(bytes))
    throw new Conflict('The service sent the credential back, so its answer is withheld');
}

function decodeContent(
  bytes: Buffer,
  headers: Headers,
): { body: unknown; encoding: 'json' | 'text' | 'base64' } {
  const type = headers.get('content-type') ?? '';
  const text = bytes.toString();
  const isText = text.isWellFormed() && !text.includes('\0') && Buffer.from(text).equals(bytes);
  if (!isText) return { body: bytes.toString('base64'), encoding: 'base64' };
  if (/^application\/([\w.+-]+\+)?json\b/i.test(type) && text !== '')
    try {
      return { body: parseJson(text), encoding: 'json' };
    } catch {
      // It says so, and is none.
    }
  return { body: text, encoding: 'text' };
}
