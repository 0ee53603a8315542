export { ExposureModule } from './exposure.module.js';
export { ExposedView, type ExposureQuery, type ExposureSource, Exposures } from './exposure.service.js';
export { LinkAccess, Locked } from './link-access.js';
export { isAbsent, isVisit, LinkPages, pathOf, tokenOf, visitorProblem } from './link-pages.js';
export { isHidden, OutsideWrites, pathBelow } from './outside-writes.js';
export {
  buildHeaders,
  countInWords,
  type IconName,
  icon,
  problemHtml,
  renderDocument,
  SAVE_ICON,
  type SharePage,
  sendDocument,
  sendNotice,
  sendSharePage,
  sendWords,
  sizeInWords,
  timeInWords,
} from './pages/page.js';
export {
  ALLOWANCES,
  type Allowance,
  type Asker,
  type GiverStanding,
  isPast,
  type LinkRow,
  OpenLink,
  PublicLink,
  readEnd,
} from './public-link.js';
export { PublicLinksStore } from './public-links.store.js';
export { ShareOrigin } from './share-origin.js';
