export type { MembershipView } from './membership.js';
export { Organization } from './organization.entity.js';
export { OrganizationMember } from './organization-member.entity.js';
export { OrganizationId } from './organizations.dto.js';
export { organizationDeleting, organizationFounded } from './organizations.events.js';
export { OrganizationsModule } from './organizations.module.js';
export { OrganizationsService } from './organizations.service.js';
export { OrganizationsStore } from './organizations.store.js';
