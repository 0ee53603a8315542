export { type Copied, copyBatch } from './copy-batch.js';
export { DuplicateModule } from './duplicate.module.js';
export { DuplicateService } from './duplicate.service.js';
