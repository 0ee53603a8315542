export { MeteringModule } from './metering.module.js';
export { StorageMeter, StoredElsewhere } from './storage-meter.js';
