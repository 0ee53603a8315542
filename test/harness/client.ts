import { parseJson } from '#libs/exact-json/index.js';
import { createParser } from './event-stream.js';

export interface Answer<T = Record<string, unknown>> {
  status: number;
  headers: Headers;
  body: T;
}

/** Anything JSON, for assertions to look into. */
// biome-ignore lint/suspicious/noExplicitAny: what came over the wire is looked at freely in tests
export type Json = any;

/** Speaks HTTP to the service as one caller. */
export class Client {
  constructor(
    readonly url: string,
    readonly headers: Record<string, string> = {},
  ) {}

  with(headers: Record<string, string>): Client {
    return new Client(this.url, { ...this.headers, ...headers });
  }

  get = (path: string) => this.json('GET', path);
  delete = (path: string) => this.json('DELETE', path);
  post = (path: string, body?: unknown) => this.json('POST', path, body);
  put = (path: string, body?: unknown) => this.json('PUT', path, body);
  patch = (path: string, body?: unknown) => this.json('PATCH', path, body);

  /** A request whose answer is JSON; numbers keep their digits. */
  async json(method: string, path: string, body?: unknown): Promise<Answer<Json>> {
    const response = await this.raw(method, path, body === undefined ? {} : jsonBody(body));
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: text === '' ? undefined : parseJson(text),
    };
  }

  raw(method: string, path: string, init: RequestInit = {}): Promise<Response> {
    return fetch(`${this.url}${path}`, { method, ...init, headers: { ...this.headers, ...init.headers } });
  }

  /** Reads a stream of server-sent events until it ends, or `until` says that it has seen enough. */
  async events(
    path: string,
    o: { headers?: Record<string, string>; until?: (event: StreamEvent) => boolean } = {},
  ): Promise<StreamEvent[]> {
    const response = await this.raw('GET', path, { headers: o.headers });
    if (response.status !== 200 || !response.body)
      throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
    const parser = createParser();
    const events: StreamEvent[] = [];
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>)
      for (const event of parser(chunk)) {
        events.push(event);
        // Leaving the loop cancels the body, which closes the connection.
        if (o.until?.(event)) return events;
      }
    return events;
  }
}

export interface StreamEvent {
  id: number;
  event: string;
  data: Json;
}

function jsonBody(body: unknown): RequestInit {
  return {
    body: typeof body === 'string' ? body : JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  };
}
