export { serveDocs } from './docs-page.js';
export { describeApi } from './openapi.js';
export { RoutesOf } from './routes.js';
export { Documents, Serves } from './serves.js';
