export { contentDisposition } from './content-disposition.js';
export { cursorAfter, pathOfCursor } from './cursor.js';
export { FileWritesService } from './file-writes.service.js';
export { EntryPage, EntryView, WrittenView } from './files.dto.js';
export { FilesModule } from './files.module.js';
export { FilesService } from './files.service.js';
export { type Preconditions, preconditionsOf } from './preconditions.js';
export { type ReceivedBody, receiveBody } from './receive-body.js';
export { sendFile } from './send-file.js';
