import { type IncomingHttpHeaders, request } from 'node:http';

export const SHARE_HOST = 'share.localhost';

export interface Seen {
  status: number;
  headers: IncomingHttpHeaders;
  bytes: Buffer;
  text: string;
}

interface Asking {
  method?: string;
  host?: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
}

/** Somebody on the internet who holds a share link. */
export class Visitor {
  constructor(private readonly url: string) {}

  /** A request, on the share host unless told otherwise; the address is sent as it stands. */
  readonly visit = (address: string, asking: Asking = {}): Promise<Seen> => {
    const { hostname, port } = new URL(this.url);
    const { method, body } = asking;
    const headers = { host: asking.host ?? `${SHARE_HOST}:${port}`, ...asking.headers };
    return new Promise((resolve, reject) => {
      const sent = request({ hostname, port, path: address, method, headers }, answer => {
        const chunks: Buffer[] = [];
        answer.on('data', chunk => chunks.push(chunk));
        answer.once('error', reject);
        answer.once('end', () => {
          const bytes = Buffer.concat(chunks);
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, bytes, text: bytes.toString() });
        });
      });
      sent.once('error', reject);
      sent.end(body);
    });
  };
}

/** A form as pages without files send it. */
export const form = (fields: Record<string, string | string[]>) => ({
  method: 'POST',
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
  body: new URLSearchParams(
    Object.entries(fields).flatMap(([name, value]) =>
      [value].flat().map((one): [string, string] => [name, one]),
    ),
  ).toString(),
});

/** A form with files, under names that are sent as they stand. */
export function multipart(files: [string, string | Buffer][]) {
  const parts = files.flatMap(([name, content]) => [
    Buffer.from(
      `--XX\r\nContent-Disposition: form-data; name="files"; filename="${name}"\r\nContent-Type: application/octet-stream\r\n\r\n`,
    ),
    Buffer.from(content),
    Buffer.from('\r\n'),
  ]);
  const headers = { 'content-type': 'multipart/form-data; boundary=XX' };
  return { method: 'POST', headers, body: Buffer.concat([...parts, Buffer.from('--XX--\r\n')]) };
}
