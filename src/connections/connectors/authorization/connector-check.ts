import { Injectable } from '@nestjs/common';
import { defineJob, OnJob } from '../../../platform/jobs/index.js';
import { ConnectorChecks } from '../calls/index.js';
import { ConnectorsStore } from '../records/index.js';

/** Looks a server's tools up, with the credential of a person, or (empty) that of all. */
export const connectorCheck = defineJob('connector_check', {
  queue: { name: 'connectors', lockDuration: 120_000, concurrency: 4 },
  payload: ['connector_id', 'user_id'],
});

@Injectable()
export class ConnectorCheckJob {
  constructor(
    private readonly connectors: ConnectorsStore,
    private readonly checks: ConnectorChecks,
  ) {}

  /** What keeps the server from answering is kept with the connector; people ask again by testing it. */
  @OnJob(connectorCheck)
  async check({ connector_id, user_id }: { connector_id: string; user_id: string }): Promise<void> {
    const connector = await this.connectors.find(connector_id);
    if (connector && !connector.is_disabled) await this.checks.check(connector, user_id || null);
  }
}
