import type { AdapterPayload } from 'oidc-provider';
import type { Row } from '../../../platform/database/index.js';

/**
 * What a person allowed a client: scopes as granted, bundles included; no `workspace_ids`: every workspace that the person
 * sees; no `redirect_host`: a device that showed a code.
 */
export type GrantRow = Row<'oauth_grant'>;

declare global {
  interface ColumnTypes {
    /** The grant as oidc-provider keeps it. */
    'oauth_grant.terms': AdapterPayload;
  }
}
