import { defineEvent } from '../../../platform/events/index.js';

export interface VersionIds {
  readonly site_id: string;
  readonly version_id: string;
}

/** A version was built; it may have gone live by that. */
export const siteVersionBuilt = defineEvent<VersionIds>('site.version_built');
export const siteVersionFailed = defineEvent<VersionIds>('site.version_failed');
/** A version went live: by itself, or by hand. */
export const sitePromoted = defineEvent<
  VersionIds & {
    /** Of this promotion: a version may go live several times. */
    readonly id: string;
    /** Who did it; null: it went by itself. */
    readonly by: string | null;
  }
>('site.promoted');
