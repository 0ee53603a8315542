export { acceptFrom } from './accept-from.js';
export { InvitationRoutes } from './invitation-routes.js';
export { type NoticeOf, noticePage } from './notices.js';
export { type Offer, offerPage, otherAccountHtml, signInToGoOn, type Tried } from './offer-page.js';
