export { folderPage, readSort } from './pages/folder-page.js';
export { ShareModule } from './share.module.js';
export { VisitCounts } from './visits/visit-counts.js';
export { shareUploaded } from './visits/visits.service.js';
