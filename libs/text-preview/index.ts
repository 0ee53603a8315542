export { type Resolve, renderMarkdown } from './markdown.js';
export { renderSheet, type SheetPreview } from './sheet.js';
