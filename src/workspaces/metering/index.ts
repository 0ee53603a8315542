export { MeteringModule } from './metering.module.js';
export { StorageMeter } from './storage-meter.js';
export { StoredElsewhere } from './stored-elsewhere.js';
