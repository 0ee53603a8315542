export { ArchivesModule } from './archives.module.js';
export { Extraction } from './extraction.js';
export { FolderZips } from './folder-zips.js';
export type { ZippedFolder } from './zip-folder.js';
