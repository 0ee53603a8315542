import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { createServer, type Server } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TLSSocket, connect as tlsConnect } from 'node:tls';
import {
  CertificateAuthority,
  type CredentialRule,
  type CredentialUse,
  EgressProxy,
  type EgressProxyOptions,
  type EgressRefusal,
  normalizePrefix,
} from '#libs/egress-proxy/index.js';
import { Exchanges } from './exchanges.js';

/** A certificate for names that are this machine, made by openssl: what the certificates of the proxy are compared with. */
export function certificateFor(names: readonly string[]): { key: string; cert: string } {
  const folder = mkdtempSync(join(tmpdir(), 'certificate-'));
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const kind = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const said = ['-days', '2', '-subj', '/CN=test', '-addext', `subjectAltName=${names.join(',')}`];
  execFileSync('openssl', [...kind, ...said, '-keyout', key, '-out', cert], { stdio: 'pipe' });
  const made = { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
  rmSync(folder, { recursive: true });
  return made;
}

export async function startTls(
  { key, cert }: { key: string; cert: string },
  listener: RequestListener,
): Promise<Server> {
  const server = createServer({ key, cert }, listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

export const portOf = (server: Server): number => (server.address() as AddressInfo).port;

export const ruleFor = (
  port: number,
  secret: string,
  { paths = ['/'], ...rule }: Partial<CredentialRule> = {},
): CredentialRule => ({
  key: secret,
  host: 'api.example',
  port,
  methods: ['GET', 'POST', 'PUT'],
  header: 'Authorization',
  paths: paths.map(normalizePrefix),
  value: async () => ({ header: `Bearer ${secret}`, secrets: [secret] }),
  ...rule,
});

/** A proxy that inspects, on a socket in a folder of its own. */
export class InspectingProxy {
  readonly uses: CredentialUse[] = [];
  readonly refusals: EgressRefusal[] = [];
  private constructor(
    readonly proxy: EgressProxy,
    readonly authority: CertificateAuthority,
    readonly folder: string,
  ) {}

  static async start(
    rules: readonly CredentialRule[],
    trusted: readonly string[],
    options: Partial<EgressProxyOptions> = {},
  ): Promise<InspectingProxy> {
    const authority = new CertificateAuthority('Sandbox of a test');
    const folder = mkdtempSync(join(tmpdir(), 'inspecting-'));
    const proxy = new EgressProxy({
      hosts: [],
      allows: () => true,
      resolve: async () => ['127.0.0.1'],
      forwarder: new Exchanges(),
      onRefusal: refusal => started.refusals.push(refusal),
      inspection: {
        rules,
        authority,
        trusted,
        advice: 'Ask Ada.',
        onUse: use => started.uses.push(use),
      },
      ...options,
    });
    const started = new InspectingProxy(proxy, authority, folder);
    await proxy.listen(join(folder, 'egress.sock'));
    return started;
  }

  async stop(): Promise<void> {
    await this.proxy.close();
    rmSync(this.folder, { recursive: true });
  }

  /** A connection that was told it leads to `host`, or what the proxy said instead. */
  async tunnel(host: string, port: number): Promise<Socket> {
    const socket = connect(join(this.folder, 'egress.sock'));
    socket.write(`CONNECT ${host}:${port} HTTP/1.1\r\nHost: ${host}:${port}\r\n\r\n`);
    const [said] = (await once(socket, 'data')) as [Buffer];
    if (!said.toString().startsWith('HTTP/1.1 200 ')) throw new Error(said.toString());
    return socket;
  }

  /** TLS to what answers as `host`, which has to be known to `ca`: the sandbox's authority by default. */
  async secured(host: string, port: number, ca = this.authority.certificate): Promise<TLSSocket> {
    const socket = tlsConnect({ socket: await this.tunnel(host, port), servername: host, host, ca });
    await once(socket, 'secureConnect');
    return socket;
  }

  /** Sends bytes as they are over one connection, and returns all that comes until it closes. */
  async raw(host: string, port: number, bytes: string): Promise<string> {
    const socket = await this.secured(host, port);
    socket.write(bytes, 'latin1');
    return await textOf(socket);
  }
}

export async function textOf(socket: Socket): Promise<string> {
  let text = '';
  socket.on('data', chunk => {
    text += chunk.toString('latin1');
  });
  socket.on('error', () => undefined);
  await once(socket, 'close');
  return text;
}
