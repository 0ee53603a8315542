export { InvitationPages } from './invitation-pages.js';
export { noticePage } from './notices.js';
