export { ExposureModule } from './exposure.module.js';
export { ExposedView, type ExposureQuery, type ExposureSource, Exposures } from './exposure.service.js';
export {
  ALLOWANCES,
  type Allowance,
  type GiverStanding,
  isVisit,
  LinkAccess,
  Locked,
  mayStill,
  stateOf,
} from './link-access.js';
export { isHidden, OutsideWrites, pathBelow } from './outside-writes.js';
export {
  countInWords,
  documentOf,
  headersOf,
  type IconName,
  icon,
  passwordPage,
  problemHtml,
  SAVE_ICON,
  type SharePage,
  sendDocument,
  sendNotice,
  sendSharePage,
  sendWords,
  sizeInWords,
  timeInWords,
} from './pages/page.js';
export { ShareOrigin } from './share-origin.js';
