export { serveDocs } from './docs-page.js';
export { describeApi } from './openapi.js';
export { Documents, RoutesOf, Serves } from './serves.js';
