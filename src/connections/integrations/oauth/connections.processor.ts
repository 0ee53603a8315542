import { Processor } from '@nestjs/bullmq';
import { JobProcessor, JobRunner, workerOptions } from '../../../platform/jobs/index.js';
import { CONNECTIONS, ConnectionRemoval, revokeAtProvider } from './connection-removal.js';

/** Takes back at its provider what a removed connection was allowed. */
@Processor(CONNECTIONS, workerOptions({ concurrency: 4 }))
export class ConnectionsProcessor extends JobProcessor {
  constructor(runner: JobRunner, removal: ConnectionRemoval) {
    super(runner);
    this.handle(
      revokeAtProvider,
      payload => removal.revoke(payload),
      payload => removal.giveUp(payload),
    );
  }
}
