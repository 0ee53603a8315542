import { defineJob } from '../../../platform/jobs/index.js';

/** Jobs that wait in a process, which is fair to organizations; the queue is not. */
const BUILDS = {
  name: 'builds',
  concurrency: 200,
  lockDuration: 10_000,
  stalledInterval: 10_000,
  maxStalledCount: 100,
};

export const buildSite = defineJob('build_site', { queue: BUILDS, payload: ['version_id', 'site_id'] });

/** Makes the compressed forms of the files of a version that is built. */
export const compressVersion = defineJob('compress_site_version', {
  queue: BUILDS,
  payload: ['version_id', 'site_id'],
});

/** Removes the files of a site that was deleted. */
export const removeSite = defineJob('remove_site', { queue: BUILDS, payload: ['site_id'] });
