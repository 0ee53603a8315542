import { defineEvent } from '../../../platform/events/index.js';

export interface VersionIds {
  readonly site_id: string;
  readonly version_id: string;
}

/** A version was built, and may have gone live. */
export const siteVersionBuilt = defineEvent<VersionIds>('site.version_built');
export const siteVersionFailed = defineEvent<VersionIds>('site.version_failed');
/** A version went live, automatically or manually. */
export const sitePromoted = defineEvent<
  VersionIds & {
    /** Id of this promotion: a version may go live several times. */
    readonly id: string;
    /** Null for automatic promotion. */
    readonly by: string | null;
  }
>('site.promoted');
