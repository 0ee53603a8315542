import { ExposureService } from './exposure/exposure.service.js';
import { Exposures } from './exposure/exposures.js';
import { FileInvitationsController } from './invitations/file-invitations.controller.js';
import { FileInvitationsService } from './invitations/file-invitations.service.js';
import { FileInvitationsStore } from './invitations/file-invitations.store.js';
import { InvitationMail } from './invitations/invitation-mail.js';
import { InvitedFilesService } from './invitations/invited-files.service.js';
import { FileInvitationPagesController } from './invitations/pages/invitation-pages.controller.js';
import { InvitationPages } from './invitations/pages/invitation-pages.js';
import { InvitedFilesPages } from './invitations/pages/invited-files-pages.js';
import { ExposedLinks } from './links/exposed-links.js';
import { LinkSeal } from './links/link-seal.js';
import { LinkViews } from './links/link-views.js';
import { ShareLinksService } from './links/share-links.service.js';
import { ShareLinksStore } from './links/share-links.store.js';
import { OutsideWrites } from './outside-writes.js';
import { ShareController } from './share.controller.js';
import { Browsing } from './visits/browsing.js';
import { Dropping } from './visits/dropping.js';
import { Renderings } from './visits/renderings.js';
import { ShareOrigin } from './visits/share-origin.js';
import { VisitorPass } from './visits/visitor-pass.js';
import { VisitorsController } from './visits/visitors.controller.js';
import { VisitsService } from './visits/visits.service.js';

export { FileInvitation } from './invitations/file-invitation.entity.js';
export { ShareLink } from './links/share-link.entity.js';
export { ShareOrigin };

export const shareControllers = [
  ShareController,
  VisitorsController,
  FileInvitationsController,
  FileInvitationPagesController,
];

export const shareProviders = [
  ShareOrigin,
  LinkSeal,
  LinkViews,
  ShareLinksStore,
  ShareLinksService,
  ExposedLinks,
  Exposures,
  ExposureService,
  OutsideWrites,
  VisitorPass,
  VisitsService,
  Browsing,
  Renderings,
  Dropping,
  FileInvitationsStore,
  FileInvitationsService,
  InvitedFilesService,
  InvitationMail,
  InvitationPages,
  InvitedFilesPages,
];
