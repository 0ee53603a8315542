export { DuplicateModule } from './duplicate.module.js';
export { DuplicateService } from './duplicate.service.js';
