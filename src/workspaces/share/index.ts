export { folderPage, sortOf } from './pages/folder-page.js';
export { ShareModule } from './share.module.js';
export { shareUploaded } from './visits/visits.service.js';
