import { defineEvent } from '../../platform/events/index.js';

/** That a part of a budget is spent, with the names that its mail mentions. */
export type BudgetAlert = {
  organization_id: string;
  workspace_id: string | null;
  /** The month, as `2026-11`. */
  period: string;
  percent: number;
  organization: string;
  workspace: string | null;
  spent_usd: string;
  monthly_usd: string;
  /** When it was passed; after a budget was raised it may be passed again. */
  created_at: string;
};

/** Published once for each alert. */
export const budgetAlerted = defineEvent<BudgetAlert>('budget.alerted');

/** A hard stop refuses model calls. */
export const budgetStopped = defineEvent<{
  organization_id: string;
  workspace_id: string | null;
  period: string;
  monthly_usd: string;
}>('budget.stopped');
