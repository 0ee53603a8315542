export { type Change, COALESCE_MS } from './change.js';
export {
  ChangeLogStore,
  changesTopic,
  isOfWorkspace,
  type Keeper,
  type LoggedChange,
} from './change-log.store.js';
export { ChangeView, WriterView } from './changes.dto.js';
export { ChangesModule } from './changes.module.js';
export { ChangesService, type WorkspaceHead } from './changes.service.js';
export { FileAuthorsStore } from './file-authors.store.js';
export { changeOf, type Destination, FileWriter } from './file-writer.js';
export { changesTo, deletionsOf, entriesAt, manifestOf, movesOf } from './intent.js';
export { NoRoom } from './no-room.js';
export { CHANGE_LOG_DAYS, NumberedChangesStore } from './numbered-changes.store.js';
export { RecordedWrites } from './recorded-writes.js';
export { QuotaGuard, SandboxWatch } from './sandbox-watch.js';
export { Scans } from './scans.js';
export { StorageMeter } from './storage-meter.js';
export { StoredElsewhere } from './stored-elsewhere.js';
export { WorkspaceQuota } from './workspace-quota.js';
export { WriteIntentsStore } from './write-intents.store.js';
export { sandboxWriterFor, type Writer, writerFor } from './writer.js';
