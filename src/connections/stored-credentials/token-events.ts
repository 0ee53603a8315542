import { defineEvent } from '../../platform/events/index.js';

/**
 * `active`: usable, or soon again after a fault that passes. `error`: the provider does not take us as we are set up; it is
 * asked again. `needs_reauth`: the grant is over, a person has to authorize again.
 */
export type TokenSetState = 'active' | 'needs_reauth' | 'error';

export const tokensChanged = defineEvent<{
  kind: string;
  id: string;
  organization_id: string;
  state: TokenSetState;
  reason: string | null;
}>('token_set.changed');

/** A token set ends in a week, unless it is authorized again. */
export const tokensExpiring = defineEvent<{
  kind: string;
  id: string;
  organization_id: string;
  ends_at: string;
}>('token_set.expiring');
