import type { Pinned } from '../records/automation-states.js';
import type { DeliveryRow } from '../records/deliveries.store.js';

/** The version that a run goes by, and what came in for it. */
export interface RunContext {
  readonly pinned: Pinned;
  readonly delivery: DeliveryRow | undefined;
}
