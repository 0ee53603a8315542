export { connectHtml } from './connect.js';
export { readFields, readForm } from './form-body.js';
export { type FormPlace, formHtml, newPasswordField, signedInAs, signInFields } from './forms.js';
export { documentHtml, escapeHtml, Html, html } from './html.js';
export { type HtmlPage, htmlDocument, htmlHeaders, problemHtml, sendOn, sendPage } from './page.js';
