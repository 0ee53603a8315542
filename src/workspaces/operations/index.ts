export { OperationsModule } from './operations.module.js';
export { isOver, type OperationRow, OperationsStore } from './operations.store.js';
