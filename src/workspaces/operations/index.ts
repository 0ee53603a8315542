export { defineOperation, type Operation } from './operation.js';
export { OperationRunner, type OperationWork, type Report } from './operation-runner.js';
export { OperationsModule } from './operations.module.js';
export { OperationsStore } from './operations.store.js';
