export { ChangeReader } from './change-reader.js';
export { ChangeWatch } from './change-watch.js';
export { FileSetup } from './file-setup.js';
export { FilesStore } from './files.store.js';
export { WindowFiring } from './window-firing.js';
