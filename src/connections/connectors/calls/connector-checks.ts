import { Injectable } from '@nestjs/common';
import { beforeSideEffect } from '../../../platform/database/index.js';
import { problemOf } from '../../../platform/errors/index.js';
import { ConnectorFault } from '../client/connector-fault.js';
import { type ServerFacts } from '../client/remote-server.js';
import { type ConnectorRow } from '../records/connector-rows.js';
import { ConnectorsStore } from '../records/connectors.store.js';
import { ConnectorClients } from './connector-clients.js';
import { CredentialUse } from './credential-use.js';
import { ToolSync } from './tool-sync.js';

export type Checked =
  | { readonly ok: true; readonly facts: ServerFacts; readonly tools: number; readonly latencyMs: number }
  | { readonly ok: false; readonly reason: string };

const CHECK_MS = 45_000;

/** Asks servers what they are and which tools they have, and keeps it. */
@Injectable()
export class ConnectorChecks {
  constructor(
    private readonly connectors: ConnectorsStore,
    private readonly credentials: CredentialUse,
    private readonly clients: ConnectorClients,
    private readonly sync: ToolSync,
  ) {}

  /** Uses the credential of the person. Failures of the server are a result. */
  async check(connector: ConnectorRow, userId: string | null): Promise<Checked> {
    beforeSideEffect();
    const signal = AbortSignal.timeout(CHECK_MS);
    try {
      const begun = performance.now();
      const { facts, tools } = await this.credentials.with(connector, userId, (credential, credentialId) =>
        this.clients.use(connector, credentialId, { credential, signal }, async connection => ({
          facts: connection.server.facts,
          tools: await connection.tools({ credential, signal }, { fresh: true }),
        })),
      );
      const latencyMs = Math.round(performance.now() - begun);
      await this.sync.keep(connector.id, facts, tools);
      return { ok: true, facts, tools: tools.size, latencyMs };
    } catch (error) {
      const reason = explain(error, signal);
      if (reason === undefined) throw error;
      if (error instanceof ConnectorFault) await this.connectors.keepFault(connector.id, reason);
      return { ok: false, reason };
    }
  }
}

function explain(error: unknown, signal: AbortSignal): string | undefined {
  if (error instanceof ConnectorFault) return error.message;
  if (signal.aborted) return 'The server took too long to answer';
  return problemOf(error)?.detail;
}
