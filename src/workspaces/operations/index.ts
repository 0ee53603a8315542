export { OperationProcessor } from './operation-processor.js';
export { OperationRefused, OperationRunner, type OperationWork, type Report } from './operation-runner.js';
export { OperationsModule } from './operations.module.js';
export { defineOperation, type Operation, OperationsStore } from './operations.store.js';
