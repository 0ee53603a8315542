import { PaymentRequired } from '../../platform/errors/index.js';

/** A budget with a hard stop, and how it stands. */
export interface Stop {
  readonly kind: 'organization' | 'workspace';
  readonly monthlyUsd: number;
  readonly spentUsd: number;
}

/** A budget with a hard stop has no room for a model call (402). */
export class BudgetReached extends PaymentRequired {
  constructor({ kind, monthlyUsd, spentUsd }: Stop, estimateUsd: number | null) {
    const budget = `The monthly budget of the ${kind}, ${usd(monthlyUsd)},`;
    const what =
      spentUsd >= monthlyUsd || estimateUsd === null
        ? `${budget} is reached`
        : `${budget} leaves ${usd(monthlyUsd - spentUsd)}, and the next model call may cost ${usd(estimateUsd)}`;
    super(`${what}; an admin can raise it, and it starts anew with the next month (UTC)`);
  }
}

function usd(amount: number): string {
  return `$${amount >= 0.01 || amount === 0 ? amount.toFixed(2) : amount.toPrecision(2)}`;
}
