import { ModelError } from '#libs/model-client/index.js';
import { BudgetReached } from '../../identity/billing/index.js';
import { problemOf } from '../../platform/errors/index.js';
import { ModelUnusable } from '../models/index.js';
import { AuthorityLost, type RunFault } from '../runs/index.js';

/** The run took too many workers with it, or happened to be there each time. */
export class TooManyLost extends Error {
  constructor(lost: number) {
    super(`The service was lost ${lost} times while it worked on this run, so it was given up`);
  }
}

/** A call needs an approval, and the run was started so that it fails where it would have to wait. */
export class ApprovalRequired extends Error {}

/** People are asked about calls of the run: it goes on when they have decided. Nothing is wrong with it. */
export class RunWaits extends Error {
  constructor() {
    super('The run waits for an approval');
  }
}

/** What people and programs are told of an error that ends a run; `internal` for a fault of ours. */
export function faultOf(error: unknown): RunFault {
  if (error instanceof ModelError) return { message: error.message, type: `model_${error.kind}` };
  if (error instanceof TooManyLost) return { message: error.message, type: 'worker_lost' };
  if (error instanceof BudgetReached) return { message: error.detail, type: 'budget_reached' };
  if (error instanceof ModelUnusable) return { message: error.detail, type: 'model_unusable' };
  if (error instanceof ApprovalRequired) return { message: error.message, type: 'approval_required' };
  if (error instanceof AuthorityLost) return { message: error.message, type: 'authority_lost' };
  const problem = problemOf(error);
  if (problem) return { message: problem.detail, type: 'refused' };
  return {
    message: 'The run failed by a fault of the service; its operator finds more in the log',
    type: 'internal',
  };
}
