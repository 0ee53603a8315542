export {
  type ArchiveEntry,
  ArchiveError,
  entriesOf,
  type Meter,
  refuseIfTooMany,
} from './archive-reader.js';
