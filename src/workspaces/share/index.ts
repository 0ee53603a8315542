export { ShareLink } from './links/share-link.entity.js';
export { folderPage, sortOf } from './pages/folder-page.js';
export { ShareModule } from './share.module.js';
