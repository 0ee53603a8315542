import type { TestService } from './service.js';

/**
 * Those who failed so often that they have to wait now wait for ten minutes: the first wait is a second, which may be over
 * before a slow machine has sent the next request.
 */
export async function prolongWaits({ database }: Pick<TestService, 'database'>): Promise<void> {
  await database.query(`update attempt_count set expire = $1 where key like '%-wait:%'`, [
    Date.now() + 600_000,
  ]);
}
