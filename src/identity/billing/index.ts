export { BudgetFields, BudgetView } from './billing.dto.js';
export { BillingModule } from './billing.module.js';
export { BudgetReached } from './budget-reached.js';
export { Budgets, type PlannedSpend } from './budgets.js';
export {
  enterModelCall,
  enterStorage,
  enterToolCall,
  freeReservation,
  hardStopOver,
} from './ledger.store.js';
