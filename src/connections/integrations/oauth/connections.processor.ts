import { Processor } from '@nestjs/bullmq';
import { JobExecution, JobProcessor, workerOptions } from '../../../platform/jobs/index.js';
import { CONNECTIONS, ConnectionRemoval, revokeAtProvider } from './connection-removal.js';

/** Takes back at its provider what a removed connection was allowed. */
@Processor(CONNECTIONS, workerOptions({ concurrency: 4 }))
export class ConnectionsProcessor extends JobProcessor {
  constructor(execution: JobExecution, removal: ConnectionRemoval) {
    super(execution);
    this.handle(
      revokeAtProvider,
      payload => removal.revoke(payload),
      payload => removal.giveUp(payload),
    );
  }
}
