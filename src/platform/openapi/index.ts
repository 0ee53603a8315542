export { serveDocs } from './docs-page.js';
export { describeApi } from './openapi.js';
export { Documents, Serves } from './serves.js';
