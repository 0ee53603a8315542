import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';

/** HTTPS servers on loopback addresses that this process trusts, and no other program does. */
export class TlsServers {
  private readonly servers: Server[] = [];
  private readonly trusted = getCACertificates('default');
  private readonly identity = newIdentity();

  constructor() {
    setDefaultCACertificates([...this.trusted, this.identity.cert]);
  }

  /** @returns its host with its port */
  async start(address: string, listener: RequestListener): Promise<string> {
    const server = createServer(this.identity, listener);
    server.listen(0, address);
    await once(server, 'listening');
    this.servers.push(server);
    return `${address}:${(server.address() as AddressInfo).port}`;
  }

  /** For programs that are to trust them, too. */
  writeCertificate(folder: string): string {
    const file = path.join(folder, 'authority.pem');
    writeFileSync(file, this.identity.cert);
    return file;
  }

  stop(): void {
    setDefaultCACertificates(this.trusted);
    for (const server of this.servers) server.close().closeAllConnections();
  }
}

function newIdentity(): { key: string; cert: string } {
  const folder = mkdtempSync(path.join(tmpdir(), 'identity-'));
  const names = ['DNS:localhost', ...[2, 3, 4].map(last => `IP:127.0.0.${last}`)].join(',');
  const kind = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const said = ['-days', '2', '-subj', '/CN=server of a test', '-addext', `subjectAltName=${names}`];
  const [key, cert] = [path.join(folder, 'key.pem'), path.join(folder, 'cert.pem')];
  execFileSync('openssl', [...kind, ...said, '-keyout', key, '-out', cert], { stdio: 'pipe' });
  const made = { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
  rmSync(folder, { recursive: true });
  return made;
}
