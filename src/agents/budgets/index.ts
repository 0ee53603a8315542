export { BudgetsModule } from './budgets.module.js';
