export { FileInvitationsModule } from './file-invitations.module.js';
