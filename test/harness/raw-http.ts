import { connect, type Socket } from 'node:net';

/** What came over a connection, as far as a test looks into it. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/**
 * Sends bytes as they are, which no HTTP client would, and reads until the service closes the connection; with a reset, where
 * it has answered before it has read everything.
 */
export async function sendRaw(url: string, bytes: string): Promise<RawAnswer> {
  const socket = await connected(url);
  const chunks: Buffer[] = [];
  socket.on('data', chunk => chunks.push(chunk));
  socket.write(bytes);
  await new Promise<void>((resolve, reject) => {
    socket.once('close', () => resolve()).once('error', error => chunks.length === 0 && reject(error));
  });
  return parse(Buffer.concat(chunks).toString());
}

/** A GET whose target goes out letter by letter. */
export const getRaw = (url: string, target: string, headers: Record<string, string> = {}) => {
  const all = { host: new URL(url).host, connection: 'close', ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return sendRaw(url, `GET ${target} HTTP/1.1\r\n${lines.join('')}\r\n`);
};

export function connected(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  return new Promise((resolve, reject) => {
    socket.once('connect', () => resolve(socket)).once('error', reject);
  });
}

function parse(text: string): RawAnswer {
  const end = text.indexOf('\r\n\r\n');
  const [line = '', ...lines] = text.slice(0, end).split('\r\n');
  const headers = lines.map(header => {
    const at = header.indexOf(':');
    return [header.slice(0, at).toLowerCase(), header.slice(at + 1).trim()] as const;
  });
  return { status: Number(line.split(' ')[1]), headers: new Map(headers), body: text.slice(end + 4) };
}
