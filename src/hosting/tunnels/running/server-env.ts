import { Injectable } from '@nestjs/common';
import { Config } from '../../../platform/config/index.js';
import { Invalid } from '../../../platform/errors/index.js';
import { type Seal, Vault } from '../../../platform/vault/index.js';
import { HostNames } from '../../gateway/index.js';
import type { ServerChanges, ServerRow } from '../records/servers.store.js';
import { VIEWER_KEYS_PATH } from './viewer-key-file.js';

const MAX_VARIABLES = 100;
const MAX_BYTES = 64 * 1024;
const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,99}$/;
/** Variables that the service sets. */
const OURS = /^(?:PORT|HOST|ATELIER_.*|ACTIONS_SOCKET|LD_PRELOAD|LD_LIBRARY_PATH)$/;

/** Additional hosts that the Vite development server accepts. */
const VITE_HOSTS = '__VITE_ADDITIONAL_SERVER_ALLOWED_HOSTS';

type Env = Readonly<Record<string, string>>;

@Injectable()
export class ServerEnv {
  private readonly seal: Seal;

  constructor(
    private readonly config: Config,
    private readonly hosts: HostNames,
    vault: Vault,
  ) {
    this.seal = vault.seal('server environments');
  }

  forProgram(server: ServerRow, port: number): Env {
    const url = this.hosts.urlOf('server', server.slug);
    return {
      ...this.open(server),
      PORT: String(port),
      HOST: '0.0.0.0',
      ATELIER_URL: this.config.baseUrl,
      ATELIER_VIEWER_JWKS: VIEWER_KEYS_PATH,
      ...(url === null ? {} : { ATELIER_SERVER_URL: url, [VITE_HOSTS]: new URL(url).hostname }),
    };
  }

  /** Merges variables; null removes one. 422 unless `{NAME: {value}}`. */
  changed(
    server: Pick<ServerRow, 'id' | 'env_sealed'>,
    changes: object,
  ): Pick<ServerChanges, 'env_names' | 'env_sealed'> {
    const env = new Map(Object.entries(this.open(server)));
    for (const [name, entry] of Object.entries(changes)) {
      const value = readValue(name, entry);
      if (value === null) env.delete(name);
      else env.set(name, value);
    }
    if (env.size > MAX_VARIABLES) throw new Invalid(`env takes ${MAX_VARIABLES} variables at most`);
    const text = JSON.stringify(Object.fromEntries(env));
    if (Buffer.byteLength(text) > MAX_BYTES) throw new Invalid(`env takes ${MAX_BYTES / 1024} KiB at most`);
    const sealed = env.size === 0 ? null : this.seal.close(text, server.id).toString('base64url');
    return { env_names: [...env.keys()].sort(), env_sealed: sealed };
  }

  private open({ id, env_sealed }: Pick<ServerRow, 'id' | 'env_sealed'>): Env {
    if (env_sealed === null) return {};
    const opened = this.seal.open(Buffer.from(env_sealed, 'base64url'), id);
    if (!opened) throw new Error('The environment of a server cannot be opened: its key is missing');
    return JSON.parse(opened.toString()) as Env;
  }
}

function readValue(name: string, entry: unknown): string | null {
  if (!NAME.test(name))
    throw new Invalid(
      `env has a variable "${name.slice(0, 100)}"; names take letters, digits and underscores, and begin with no digit`,
    );
  if (OURS.test(name)) throw new Invalid(`env may not set ${name}: the service sets it`);
  if (entry === null) return null;
  const { value } = typeof entry === 'object' ? (entry as { value?: unknown }) : {};
  if (typeof value !== 'string' || value.includes('\0'))
    throw new Invalid(`env.${name} must be {"value": "…"}, or null to remove it`);
  return value;
}
