export { Invitation } from './invitation.entity.js';
export { MailAllowance } from './invitation-letter.js';
export { InvitationsModule } from './invitations.module.js';
