export { BudgetFields, BudgetView } from './billing.dto.js';
export { budgetAlerted, budgetStopped } from './billing.events.js';
export { BillingModule } from './billing.module.js';
export { BudgetReached, Budgets } from './budgets.js';
export type { PlannedSpend } from './budgets.store.js';
export {
  enterBuild,
  enterModelCall,
  enterScript,
  enterServer,
  enterStorage,
  enterToolCall,
  freeReservation,
  type PayingRun,
} from './ledger.store.js';
