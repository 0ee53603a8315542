export { MAX_PLAN_STEPS, PlanStep, PlanView, planText, STEP_STATUSES } from './plan.js';
export { PlansModule } from './plans.module.js';
export { PLAN_COLUMN, type PlanColumn, PlansStore, planView, setPlan } from './plans.store.js';
