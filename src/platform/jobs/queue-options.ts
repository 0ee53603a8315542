/** Of deliveries that fail because the database is away. How a job itself failed is in its row. */
const DELIVERIES = 10;
const BACKOFF_MS = 1000;
/** Sets the jobs that have a row apart from those that an earlier version added. */
const PREFIX = 'job-';

/** How BullMQ keeps a job: under an id by which it knows one that it is given again. */
export const queueOptions = (id: string) => ({
  jobId: `${PREFIX}${id}`,
  attempts: DELIVERIES,
  backoff: { type: 'exponential', delay: BACKOFF_MS },
  removeOnComplete: true,
  removeOnFail: true,
});

/** The id of the row of a job; undefined where it has none. */
export const rowIdOf = (jobId: string | undefined): string | undefined =>
  jobId?.startsWith(PREFIX) ? jobId.slice(PREFIX.length) : undefined;
