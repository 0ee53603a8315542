import { Injectable } from '@nestjs/common';
import type { Adapter } from 'oidc-provider';
import { ArtifactsStore } from '../artifacts/artifacts.store.js';
import { ClientsStore } from '../clients/clients.store.js';
import { ServiceAccountClients } from '../clients/service-account-clients.js';
import { GrantsStore } from '../grants/grants.store.js';
import { TokenHandles } from '../tokens/token-handles.js';
import { ArtifactAdapter } from './artifact-adapter.js';
import { ClientAdapter } from './client-adapter.js';
import { GrantAdapter } from './grant-adapter.js';
import { StructuredTokenAdapter } from './structured-token-adapter.js';

/** Where oidc-provider keeps each of its models: all in the database, so that any process can go on with any of them. */
@Injectable()
export class OAuthAdapters {
  constructor(
    private readonly clients: ClientsStore,
    private readonly serviceAccounts: ServiceAccountClients,
    private readonly grants: GrantsStore,
    private readonly artifacts: ArtifactsStore,
    private readonly handles: TokenHandles,
  ) {}

  readonly of = (model: string): Adapter => {
    switch (model) {
      case 'Client':
        return new ClientAdapter(this.clients, this.serviceAccounts);
      case 'Grant':
        return new GrantAdapter(this.grants);
      case 'AccessToken':
      case 'ClientCredentials':
        return new StructuredTokenAdapter(model, this.handles);
      default:
        return new ArtifactAdapter(model, this.artifacts, this.grants);
    }
  };
}
