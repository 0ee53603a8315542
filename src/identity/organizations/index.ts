export { ListOfOrganization, OrganizationId } from './organizations.dto.js';
export { memberRemoved, organizationDeleting, organizationFounded } from './organizations.events.js';
export { OrganizationsModule } from './organizations.module.js';
export { OrganizationsService } from './organizations.service.js';
export { type MembershipView, OrganizationsStore } from './organizations.store.js';
