import type { OrganizationRole } from '../../platform/access/index.js';

/**
 * A row of the view `membership`: a person or a service account in an organization, with the role they have right now (a
 * service account never more than its sponsor).
 */
export type MembershipView = {
  membership: { organization_id: string; principal_id: string; role: OrganizationRole };
};
