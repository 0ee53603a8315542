export { FileWritesService } from './file-writes.service.js';
export { EntryPage, EntryView, WrittenView } from './files.dto.js';
export { FilesModule } from './files.module.js';
export { cursorAfter, FilesService, pathOfCursor } from './files.service.js';
export type { FileKnowledge, KnownFile, KnownFiles } from './known-files.js';
export { shownImageType } from './text-or-image.js';
export { TreeScan } from './tree-scan.js';
