export {
  connectHtml,
  type FormPlace,
  formHtml,
  newPasswordField,
  readFields,
  readForm,
  signedInAs,
  signInFields,
  signInForm,
} from './forms.js';
export { LOOK } from './look.js';
export {
  type HtmlPage,
  htmlDocument,
  htmlHeaders,
  problemHtml,
  problemPage,
  START_WAY,
  sendOn,
  sendPage,
  takesPages,
} from './page.js';
export { ALLOWS_LOCAL_TIMES, LOCAL_TIMES, timeHtml } from './times.js';
