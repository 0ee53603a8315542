export {
  AutomationEventsStore,
  automationEventsTopic,
} from './automation-events.store.js';
export {
  type AutomationRunRow,
  AutomationRunsStore,
  type Lane,
  type NewRun,
  type OpenRuns,
  type RunOutcome,
  type RunTry,
} from './automation-runs.store.js';
export * from './automation-states.js';
export { DeliveriesStore, type DeliveryEnd, type DeliveryRow, type NewDelivery } from './deliveries.store.js';
export {
  type DeploymentRow,
  DeploymentsStore,
  type NewVersion,
  type TriggerRow,
  type VersionRow,
} from './deployments.store.js';
