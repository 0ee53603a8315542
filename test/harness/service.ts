import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { GuardedFetch } from '#libs/guarded-fetch/index.js';
import { SetupToken } from '../../src/identity/auth/index.js';
import { Config } from '../../src/platform/config/index.js';
import { createLog } from '../../src/platform/log/index.js';
import { Topics } from '../../src/platform/topics/index.js';
import { createServer } from '../../src/server.js';
import type { McpExtension } from '../../src/surfaces/mcp/index.js';
import { Client, type Json } from './client.js';
import { TestDatabase } from './database.js';
import { closeWatched } from './shutdown-watch.js';

const PASSWORD = 'correct horse battery';

/** A person with an account, and a client that acts as them. */
export interface Person {
  id: string;
  email: string;
  password: string;
  client: Client;
  organizationId: string;
  refreshToken: string;
}

/** The whole service in this process, on a database and a data folder of its own. */
export class TestService {
  private people = 0;

  private constructor(
    private running: NestFastifyApplication | undefined,
    readonly url: string,
    readonly database: TestDatabase,
    readonly dataDir: string,
  ) {}

  /** `parts` stand in for those that would leave the machine. */
  static async start(
    environment: Record<string, string> = {},
    parts: { outgoing?: GuardedFetch; mcp?: McpExtension } = {},
  ): Promise<TestService> {
    const database = await TestDatabase.create();
    const dataDir = mkdtempSync(path.join(tmpdir(), 'atelier-data-'));
    chmodSync(dataDir, 0o755);
    const config = Config.from({
      DATABASE_URL: database.url,
      DATA_DIR: dataDir,
      PORT: '0',
      HOST: '127.0.0.1',
      REGISTRATION: 'open',
      LOG_LEVEL: 'error',
      DRAIN_SECONDS: '0',
      DATABASE_POOL: '8',
      RATE_LIMITS_PER_MINUTE: 'credential=0,anonymous=0,shared=0,webhook=0',
      ...environment,
    });
    const app = await createServer({
      ...parts,
      config,
      log: createLog(config),
      database: { connectionString: database.url, refusesSecondConnections: true },
    });
    await app.listen(config.port, '127.0.0.1');
    return new TestService(app, await app.getUrl(), database, dataDir);
  }

  get app(): NestFastifyApplication {
    if (!this.running) throw new Error('The service was stopped');
    return this.running;
  }

  /** A client without a credential. */
  get stranger(): Client {
    return new Client(this.url);
  }

  /** A new account; the first one owns the installation. */
  async person(name = 'Ada'): Promise<Person> {
    const setup_token = await this.app.get(SetupToken, { strict: false }).renew();
    const email = `person${++this.people}@example.com`;
    const { status, body } = await this.stranger.post('/api/auth/register', {
      email,
      password: PASSWORD,
      name,
      setup_token,
    });
    if (status !== 200) throw new Error(`registration answered ${status}: ${JSON.stringify(body)}`);
    const client = new Client(this.url, { authorization: `Bearer ${body.access_token}` });
    const organizations = await client.get('/api/organizations');
    const organizationId = organizations.body.items[0].id;
    return {
      id: body.user.id,
      email,
      password: PASSWORD,
      client,
      organizationId,
      refreshToken: body.refresh_token,
    };
  }

  /** A client with a new API key of `person`. */
  async key(person: Person, limits: Json = {}): Promise<Client> {
    const { body } = await person.client.post('/api/keys', { name: 'test', ...limits });
    return new Client(this.url, { 'x-api-key': body.api_key });
  }

  /** A new workspace of `person`. */
  async workspace(person: Person, fields: Json = {}): Promise<string> {
    const { status, body } = await person.client.post('/api/workspaces', {
      name: 'Research',
      organization_id: person.organizationId,
      ...fields,
    });
    if (status !== 200) throw new Error(`workspace creation answered ${status}: ${JSON.stringify(body)}`);
    return body.id;
  }

  /** Puts `person` into an organization, and into a workspace, with roles. */
  async join(
    person: Person,
    place: { organization: string; role: string; workspace?: string; workspaceRole?: string },
  ): Promise<void> {
    const { organization, role, workspace, workspaceRole } = place;
    await this.database.query(
      'insert into organization_member (organization_id, user_id, role, created_at) values ($1, $2, $3, now()) on conflict (organization_id, user_id) do update set role = $3',
      [organization, person.id, role],
    );
    if (!workspace) return;
    await this.database.query(
      'insert into workspace_member (workspace_id, principal_id, role, created_at) values ($1, $2, $3, now()) on conflict (workspace_id, principal_id) do update set role = $3',
      [workspace, person.id, workspaceRole],
    );
  }

  /** The policies of all workspaces are the default one again. */
  async forgetPolicies(): Promise<void> {
    await this.database.query('delete from approval_policy');
    this.app.get(Topics, { strict: false }).publishEverything();
  }

  async stop(): Promise<void> {
    await closeWatched(this.app);
    // Variables of a test file live as long as the process, and most test files have the service in one.
    this.running = undefined;
    await this.database.drop();
    rmSync(this.dataDir, { recursive: true, force: true });
  }
}
