import { defineEvent } from '../../../platform/events/index.js';

interface EndedInstance {
  readonly server_id: string;
  readonly instance_id: string;
}

/** A program crashed for the first time since it ran well, and is restarted. */
export const serverCrashed = defineEvent<EndedInstance>('server.crashed');
/** A server is not restarted any more. */
export const serverFailed = defineEvent<EndedInstance>('server.failed');
