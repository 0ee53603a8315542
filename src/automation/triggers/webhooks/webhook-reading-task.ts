import { type Arrived, type Reading, readWebhook } from './webhook-reading.js';

/** As {@link readWebhook}, for what is handed from thread to thread. */
export function readLargeWebhook(arrived: Arrived): Reading {
  const reading = readWebhook(arrived);
  return reading.is === 'taken' ? { ...reading, payload: Buffer.from(reading.payload as string) } : reading;
}
