import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Json } from './client.js';
import { serveRepositories } from './git-server.js';
import type { Person } from './service.js';
import { TlsServers } from './tls-servers.js';

type Allowed = (authorization: string | undefined, path: string) => boolean;

/** A forge on this machine, over TLS: repositories, and an API that takes any key. */
export class Forge {
  /** Told of each request before it is answered, which waits for it. */
  onRequest: (request: IncomingMessage) => void | Promise<void> = () => undefined;
  private readonly servers = new TlsServers();
  private readonly git: RequestListener;

  private constructor(
    readonly folder: string,
    allowed?: Allowed,
  ) {
    this.git = serveRepositories(folder, allowed);
  }

  /** With its port. */
  host = '';

  static async start(allowed?: Allowed): Promise<Forge> {
    const forge = new Forge(mkdtempSync(path.join(tmpdir(), 'forge-')), allowed);
    forge.host = await forge.servers.start('127.0.0.3', (request, response) =>
      forge.answer(request, response),
    );
    return forge;
  }

  stop(): void {
    this.servers.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** What programs are to trust that ask it themselves. */
  writeCertificate(): string {
    return this.servers.writeCertificate(this.folder);
  }

  /** A bare repository that takes pushes; with a commit, if there are files. */
  add(name: string, files = 0): string {
    const script = `git init -q --bare -b main "$0" && git -C "$0" config http.receivepack true && [ "$1" = 0 ] && exit
      work=$(mktemp -d) && git init -q -b main "$work" && (cd "$work" && for i in $(seq "$1"); do echo $i > f$i; done && git add . &&
      git -c user.name=A -c user.email=a@example.com commit -qm first) && git -C "$work" push -q "$PWD/$0" main && rm -rf "$work"`;
    execFileSync('sh', ['-c', script, name, String(files)], { cwd: this.folder, stdio: 'pipe' });
    return `https://${this.host}/${name}`;
  }

  /** A connection of the person's organization, granted to the workspace. */
  async connect({ client, organizationId: organization_id }: Person, workspace_id: string): Promise<string> {
    const definition = {
      id: 'forge',
      name: 'Forge',
      docs: 'https://forge.example.com/docs',
      auth: 'api_key',
      api: { base_url: `https://${this.host}`, hosts: [], header: 'X-Key', template: '{api_key}' },
      git: { hosts: [this.host], username: 'git' },
      fields: [{ name: 'api_key', label: 'Key', secret: true }],
    };
    await client.post('/api/integrations/providers', { organization_id, definition });
    const input = {
      organization_id,
      provider: 'forge',
      owner: 'organization',
      fields: { api_key: 'key-of-all' },
    };
    const { status, body } = await client.post('/api/integrations', input);
    if (status !== 200) throw new Error(`connecting answered ${status}: ${JSON.stringify(body)}`);
    await client.put(`/api/integrations/${body.connection.id}/workspaces`, { grants: [{ workspace_id }] });
    return body.connection.id;
  }

  /** The id of a repository that is cloned. */
  async clone({ client }: Person, input: Json): Promise<string> {
    const { status, body } = await client.post('/api/git-repos', input);
    if (status !== 200) throw new Error(`cloning answered ${status}: ${JSON.stringify(body)}`);
    const last = (await client.events(`/api/operations/${body.operation_id}/events`)).at(-1);
    if (last?.event !== 'operation.completed') throw new Error(`the clone ended: ${JSON.stringify(last)}`);
    return body.id;
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    void Promise.resolve(this.onRequest(request)).then(() => {
      if (!response.destroyed) this.git(request, response);
    });
  }
}
