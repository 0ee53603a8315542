export { ArchivesModule } from './archives.module.js';
export { Extraction } from './extraction.js';
export { FolderZips, type ZippedFolder } from './folder-zips.js';
