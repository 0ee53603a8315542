import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  BlobCache,
  BlobFolder,
  buildManifest,
  decodeManifest,
  encodeManifest,
  type Finding,
  type Manifest,
  mediaTypeOf,
  type SendOptions,
  StaticSite,
  send,
} from './index.js';

export interface Got {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** Sites from texts, served over HTTP. */
export class ServedSite {
  readonly blobs: BlobFolder;
  readonly faults: unknown[] = [];
  private readonly folder = mkdtempSync(path.join(tmpdir(), 'static-site-'));
  private readonly server: http.Server;
  private readonly cache = new BlobCache({ maxBytes: 1024 * 1024 });
  site = new StaticSite({ files: [], spa: false, headers: [], redirects: [] });
  earlier: StaticSite[] = [];
  cacheability: 'public' | 'private' = 'public';
  options: SendOptions = {};

  constructor() {
    this.blobs = new BlobFolder(path.join(this.folder, 'blobs'));
    this.server = http.createServer((request, response) => {
      const { method = '', url = '', headers } = request;
      const asked = { method, path: url, headers, host: 'docs.example' };
      const answer = this.site.answer(asked, { earlier: this.earlier, cacheability: this.cacheability });
      const onError = (error: unknown) => void this.faults.push(error);
      void send(response, answer, this.blobs, this.cache, { onError, ...this.options });
    });
  }

  async start(): Promise<this> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    return this;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise(resolve => this.server.close(resolve));
    rmSync(this.folder, { recursive: true, force: true });
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Serves these files from now on; returns the manifest as it was stored and read again. */
  async publish(
    files: Record<string, string | Buffer>,
    { spa = null, earlier = [] }: { spa?: boolean | null; earlier?: Manifest[] } = {},
  ): Promise<{ manifest: Manifest; findings: Finding[] }> {
    const collected = [];
    for (const [name, content] of Object.entries(files)) {
      const bytes = Buffer.from(content);
      const stored = await this.blobs.put([bytes] as never, { maxBytes: 64 * 1024 * 1024 });
      const type = mediaTypeOf(name);
      collected.push({
        path: name,
        ...stored,
        type,
        ...(await this.blobs.compress(stored.hash, stored.size, type)),
      });
    }
    const text = (name: string) => files[name]?.toString();
    const made = await buildManifest({
      files: collected,
      spa,
      earlier,
      reserved: ['_atelier'],
      headers: text('_headers'),
      redirects: text('_redirects'),
    });
    const manifest = await decodeManifest(await encodeManifest(made.manifest));
    this.site = new StaticSite(manifest, { version: '7' });
    return { manifest, findings: made.findings };
  }

  /** A request whose target goes out as it stands. */
  get(target: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Got> {
    return new Promise((resolve, reject) => {
      const socket = net.connect(this.port, '127.0.0.1');
      const lines = Object.entries({ Host: 'docs.example', Connection: 'close', ...headers });
      socket.write(
        `${method} ${target} HTTP/1.1\r\n${lines.map(pair => pair.join(': ')).join('\r\n')}\r\n\r\n`,
      );
      const chunks: Buffer[] = [];
      socket.on('data', chunk => chunks.push(chunk));
      socket.once('error', reject);
      socket.once('end', () => {
        const text = Buffer.concat(chunks).toString('latin1');
        const end = text.indexOf('\r\n\r\n');
        const [first = '', ...rest] = text.slice(0, end).split('\r\n');
        const named = rest.map(line => [
          line.slice(0, line.indexOf(':')).toLowerCase(),
          line.slice(line.indexOf(':') + 2),
        ]);
        resolve({
          status: Number(first.split(' ')[1]),
          headers: Object.fromEntries(named),
          body: text.slice(end + 4),
        });
      });
    });
  }

  async status(target: string, headers?: Record<string, string>): Promise<number> {
    return (await this.get(target, headers)).status;
  }
}
