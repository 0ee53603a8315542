export { atOnce } from './at-once.js';
export { batchesOf } from './batches.js';
export type { FileChange } from './change-together.js';
export type { Copied, CopyOptions } from './copy.js';
export type { Draft } from './draft.js';
export { type Edited, type EditOptions, editText, excerptOf, type TextEdit } from './edit.js';
export type { Entry, EntryType } from './entry.js';
export { isNoFile, isWorkspaceError, WorkspaceFsError, type WorkspaceFsErrorCode } from './errors.js';
export type { Finding, FindOptions, Seen } from './find.js';
export type { Fingerprint } from './fingerprint.js';
export { Glob } from './glob.js';
export { GlobSet } from './glob-set.js';
export { KeyedLock } from './keyed-lock.js';
export type { Listing, ListOptions } from './list.js';
export { nearest, numbered } from './nearest.js';
export type { ByteRange, OpenFile } from './open-file.js';
export type { Contents, Overview } from './overview.js';
export {
  newTemporaryName,
  normalizePath,
  parentOf,
  SEEN_AT,
  TEMPORARY_MAKER,
  workspacePath,
} from './path.js';
export { quotePath } from './quote-path.js';
export type { ReadTextOptions, TextRead } from './read-text.js';
export type { SearchMatch, SearchOptions, SearchResult } from './search.js';
export { literalsOf } from './search-literals.js';
export type { NameMatch, NameSearchOptions, NameSearchResult } from './search-names.js';
export { PatternError, type Span } from './search-pattern.js';
export { SKIPPED_FOLDERS } from './search-scope.js';
export { type Difference, Snapshot } from './snapshot.js';
export type { WorkspaceFsOptions } from './tree.js';
export { WorkspaceFs } from './workspace-fs.js';
export type { BeforePlacing, FileSource, WriteOptions, Written } from './write.js';
