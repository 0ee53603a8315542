import { Injectable } from '@nestjs/common';
import type { UnitOfWork } from '../../platform/database/index.js';
import { Vault } from '../../platform/vault/index.js';
import { SECRET_PLACE } from './authorization/index.js';
import type { ConnectorRow } from './records/index.js';

type TypedClient = Pick<ConnectorRow, 'client_id' | 'client_secret_id'>;

/** Clients that people registered at authorization servers by hand. */
@Injectable()
export class TypedClients {
  constructor(private readonly vault: Vault) {}

  async keep(
    unit: UnitOfWork,
    organization_id: string,
    client: { id: string; secret?: string } | null | undefined,
  ): Promise<TypedClient> {
    if (!client) return { client_id: null, client_secret_id: null };
    const { id: client_id, secret } = client;
    if (secret === undefined) return { client_id, client_secret_id: null };
    const place = { place: SECRET_PLACE, organization_id };
    return { client_id, client_secret_id: await this.vault.put(unit, place, secret) };
  }

  async remove(
    unit: UnitOfWork,
    { client_secret_id }: Pick<ConnectorRow, 'client_secret_id'>,
  ): Promise<void> {
    if (client_secret_id !== null) await this.vault.remove(unit, [client_secret_id]);
  }
}
