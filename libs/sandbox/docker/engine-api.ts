import http, { type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { json, text } from 'node:stream/consumers';

/** The engine refused; the message is what it said. */
export class EngineRefusal extends Error {
  constructor(
    readonly statusCode: number,
    message: string,
  ) {
    super(message);
  }
}

/** Objects, such as filters, are sent as JSON. */
type Query = Readonly<Record<string, string | number | boolean | object>>;

interface CallOptions {
  readonly query?: Query;
  readonly body?: object;
}

/**
 * The Docker Engine API over its socket (https://docs.docker.com/reference/api/engine). Methods throw EngineRefusal where the
 * engine answers with another status than 2xx, and the error of the connection where it cannot be reached.
 */
export class EngineApi {
  constructor(private readonly socketPath: string) {}

  /** Sends JSON and reads JSON; undefined where the answer has no body. */
  async call<T = void>(method: string, path: string, options: CallOptions = {}): Promise<T> {
    const answer = await this.answer(method, path, options);
    if (answer.headers['content-type']?.startsWith('application/json')) return (await json(answer)) as T;
    answer.resume();
    return undefined as T;
  }

  /** An answer that goes on, such as events. */
  stream(path: string, query: Query): Promise<IncomingMessage> {
    return this.answer('GET', path, { query });
  }

  /** Connects to a process: what is written is its input, what is read its output ("Hijacking" in the API's reference). */
  connect(path: string, options: CallOptions): Promise<Duplex> {
    return new Promise((resolve, reject) => {
      const request = this.request('POST', path, options, { connection: 'Upgrade', upgrade: 'tcp' });
      request.on('error', reject);
      request.on('response', answer => void refusalOf(answer).then(reject, reject));
      request.on('upgrade', (_answer, socket, head) => {
        if (head.length > 0) socket.unshift(head);
        resolve(socket);
      });
    });
  }

  private async answer(method: string, path: string, options: CallOptions): Promise<IncomingMessage> {
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      this.request(method, path, options).on('response', resolve).on('error', reject);
    });
    const { statusCode = 0 } = answer;
    if (statusCode < 200 || statusCode > 299) throw await refusalOf(answer);
    return answer;
  }

  private request(
    method: string,
    path: string,
    { query = {}, body }: CallOptions,
    headers: Record<string, string> = {},
  ): http.ClientRequest {
    const content = body === undefined ? '' : JSON.stringify(body);
    const request = http.request({
      socketPath: this.socketPath,
      agent: false,
      method,
      path: `${path}?${queryOf(query)}`,
      headers: {
        host: 'docker',
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(content),
        ...headers,
      },
    });
    return request.end(content);
  }
}

function queryOf(query: Query): URLSearchParams {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    parameters.set(name, typeof value === 'object' ? JSON.stringify(value) : String(value));
  return parameters;
}

async function refusalOf(answer: IncomingMessage): Promise<EngineRefusal> {
  const said = await text(answer);
  return new EngineRefusal(answer.statusCode ?? 0, messageIn(said));
}

function messageIn(said: string): string {
  try {
    return (JSON.parse(said) as { message?: string }).message ?? said;
  } catch {
    return said.trim();
  }
}
