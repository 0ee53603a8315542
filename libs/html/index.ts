export { documentHtml, escapeHtml, Html, html } from './html.js';
