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
export { type HtmlPage, htmlDocument, htmlHeaders, problemHtml, sendOn, sendPage } from './page.js';
