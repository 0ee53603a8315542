import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { hashSecret } from '../../../platform/access/index.js';
import { Database } from '../../../platform/database/index.js';

/** Seconds that a device leaves between two polls, as long as it keeps to that (RFC 8628 section 3.2). */
export const POLL_SECONDS = 5;
/** Seconds by which that grows for a device each time it polls sooner (RFC 8628 section 3.5). */
const SLOWER_BY_SECONDS = 5;

/** Keeps how often devices ask whether they were let in, for all processes and by the clock of the database. */
@Injectable()
export class DevicePollsStore {
  constructor(private readonly database: Database) {}

  /** Writes a poll down; false where it came too soon after the one before, and the next is to leave more time. */
  async poll(deviceCode: string): Promise<boolean> {
    const key = hashSecret(deviceCode);
    const tables = this.database.tables();
    // Of several polls at once one is in time: the others wait for its row, and then see its time.
    const { rows } = await sql`
      update oauth_artifact set polled_at = clock_timestamp()
      where model = 'DeviceCode' and id = ${key}
        and (polled_at is null or
          polled_at + make_interval(secs => coalesce(poll_seconds, ${POLL_SECONDS})) <= clock_timestamp())
      returning id`.execute(tables);
    if (rows.length > 0) return true;
    await sql`
      update oauth_artifact set polled_at = clock_timestamp(),
        poll_seconds = coalesce(poll_seconds, ${POLL_SECONDS}) + ${SLOWER_BY_SECONDS}
      where model = 'DeviceCode' and id = ${key}`.execute(tables);
    return false;
  }
}
