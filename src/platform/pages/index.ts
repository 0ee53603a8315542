export {
  connectHtml,
  type FormPlace,
  formHtml,
  newPasswordField,
  readFields,
  readForm,
  signedInAs,
  signInFields,
} from './forms.js';
export { type HtmlPage, htmlDocument, htmlHeaders, problemHtml, sendOn, sendPage } from './page.js';
