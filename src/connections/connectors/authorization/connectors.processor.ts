import { Processor } from '@nestjs/bullmq';
import { defineJob, JobProcessor, JobRunner, workerOptions } from '../../../platform/jobs/index.js';
import { ConnectorChecks } from '../calls/connector-checks.js';
import { ConnectorsStore } from '../records/connectors.store.js';

export const CONNECTORS = 'connectors';

/** Looks a server's tools up, with the credential of a person, or (empty) that of all. */
export const connectorCheck = defineJob('connector_check', {
  queue: CONNECTORS,
  payload: ['connector_id', 'user_id'],
});

@Processor(CONNECTORS, workerOptions({ concurrency: 4, lockDuration: 120_000 }))
export class ConnectorsProcessor extends JobProcessor {
  constructor(
    runner: JobRunner,
    private readonly connectors: ConnectorsStore,
    private readonly checks: ConnectorChecks,
  ) {
    super(runner);
    this.handle(connectorCheck, payload => this.check(payload));
  }

  /** What keeps the server from answering is kept with the connector; people ask again by testing it. */
  async check({ connector_id, user_id }: { connector_id: string; user_id: string }): Promise<void> {
    const connector = await this.connectors.find(connector_id);
    if (connector && !connector.is_disabled) await this.checks.check(connector, user_id || null);
  }
}
