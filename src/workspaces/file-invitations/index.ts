export { FileInvitation } from './file-invitation.entity.js';
export { FileInvitationsModule } from './file-invitations.module.js';
