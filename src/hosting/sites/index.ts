export { sitePromoted, siteVersionBuilt, siteVersionFailed } from './records/site-events.js';
export { SitesModule } from './sites.module.js';
