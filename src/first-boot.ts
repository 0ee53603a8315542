import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { INestApplicationContext } from '@nestjs/common';
import { AuthService, SetupToken } from './identity/auth/index.js';
import { KeysService } from './identity/keys/index.js';
import { OrganizationsStore } from './identity/organizations/index.js';
import { type Actor, randomSecret } from './platform/access/index.js';
import type { Config } from './platform/config/index.js';
import { newId } from './platform/database/index.js';
import { WELCOME_FILES } from './welcome-files.js';
import { WorkspacesService } from './workspaces/core/index.js';
import { FileWritesService } from './workspaces/files/index.js';

/** What `.atelier/credentials.json` holds. */
export interface BootCredentials {
  base_url: string;
  email: string;
  password: string;
  api_key?: string;
  organization_id?: string;
  workspace_id?: string;
}

/**
 * Gives a fresh installation an owner, an organization and a workspace to try. Each step is written down before the
 * next, so that a start that was cut off is finished by the one after it.
 */
export class FirstBoot {
  private readonly file: string;

  constructor(
    private readonly app: INestApplicationContext,
    private readonly config: Config,
  ) {
    this.file = path.join(config.dataDir, 'credentials.json');
  }

  /** The credentials of the owner made here; undefined where the installation has an owner of its own. */
  async credentials(): Promise<BootCredentials | undefined> {
    const setupToken = await this.app.get(SetupToken, { strict: false }).renew();
    const known = this.read();
    if (!known && !setupToken) return undefined;
    const credentials = this.write(
      known ?? { base_url: '', email: 'owner@atelier.local', password: randomSecret() },
    );
    if (credentials.workspace_id) return credentials;
    const actor = await this.owner(credentials, setupToken);
    return this.furnish(actor, credentials);
  }

  private async owner({ email, password }: BootCredentials, setup_token: string | undefined): Promise<Actor> {
    const auth = this.app.get(AuthService, { strict: false });
    const from = { userAgent: 'first start', address: '127.0.0.1' };
    const { user } = setup_token
      ? await auth.register({ email, password, name: 'Owner', setup_token }, from)
      : await auth.login({ email, password }, from);
    const unlimited = { scopes: null, expires_at: null, organization_id: null, workspace_ids: null };
    return {
      type: 'user',
      id: user.id,
      name: user.name,
      email,
      credential: { type: 'session', id: newId(), ...unlimited },
    };
  }

  private async furnish(actor: Actor, credentials: BootCredentials): Promise<BootCredentials> {
    const organization_id = await this.app.get(OrganizationsStore, { strict: false }).defaultFor(actor);
    const { api_key } = await this.app
      .get(KeysService, { strict: false })
      .create(actor, { name: 'First key' });
    const workspaces = this.app.get(WorkspacesService, { strict: false });
    const { id: workspace_id } = await workspaces.create(actor, { name: 'Welcome', organization_id });
    const files = this.app.get(FileWritesService, { strict: false });
    for (const [path, content] of Object.entries(WELCOME_FILES))
      await files.write(actor, { workspace_id, path, content });
    return this.write({ ...credentials, api_key, organization_id, workspace_id });
  }

  private read(): BootCredentials | undefined {
    try {
      return JSON.parse(readFileSync(this.file, 'utf8'));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  }

  private write(credentials: BootCredentials): BootCredentials {
    const current = { ...credentials, base_url: this.config.baseUrl };
    const temporary = `${this.file}.new`;
    writeFileSync(temporary, `${JSON.stringify(current, null, 2)}\n`, { mode: 0o600 });
    renameSync(temporary, this.file);
    return current;
  }
}
