import { defineJob } from '../../../platform/jobs/index.js';

/** The queue of versions that are built, and of sites that are removed. */
export const BUILDS = 'builds';

export const buildSite = defineJob('build_site', { queue: BUILDS, payload: ['version_id', 'site_id'] });

/** Makes the compressed forms of the files of a version that is built. */
export const compressVersion = defineJob('compress_site_version', {
  queue: BUILDS,
  payload: ['version_id', 'site_id'],
});

/** Removes the files of a site that was deleted. */
export const removeSite = defineJob('remove_site', { queue: BUILDS, payload: ['site_id'] });
