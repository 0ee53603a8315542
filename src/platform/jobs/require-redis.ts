import { Redis } from 'ioredis';

const CONNECT_MS = 5000;

/** The Redis of the operator cannot be used; the message says why. */
export class RedisUnusable extends Error {}

/** Throws RedisUnusable where no Redis answers at `url` within five seconds. The message never repeats the address. */
export async function requireRedis(url: string): Promise<void> {
  const redis = new Redis(url, {
    lazyConnect: true,
    connectTimeout: CONNECT_MS,
    commandTimeout: CONNECT_MS,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  let fault: Error | undefined;
  redis.on('error', error => {
    fault = error;
  });
  try {
    await redis.connect();
    await redis.ping();
  } catch (error) {
    const { message } = fault ?? (error as Error);
    throw new RedisUnusable(
      `The Redis in REDIS_URL cannot be used: ${message}. Start it, or correct REDIS_URL.`,
    );
  } finally {
    redis.disconnect();
  }
}
