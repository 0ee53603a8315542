export { AutomationsModule } from './automations.module.js';
export {
  type TriggerChange,
  type TriggerFacts,
  type TriggerSecret,
  type TriggerSetup,
  TriggerSetups,
} from './deploying/trigger-kinds.js';
export type {
  AutomationDefinition,
  FileTrigger,
  NotificationTrigger,
  ScheduleTrigger,
  Verification,
  WebhookTrigger,
} from './file/automation-definition.js';
export { nextFires } from './next-fires.js';
export { AutomationRunsStore } from './records/automation-runs.store.js';
export {
  AUTOMATION_TRIGGERS,
  automationCompleted,
  automationDrifted,
  automationFailed,
  automationPaused,
  automationSilent,
  automationSkipped,
} from './records/automation-states.js';
export { DeliveriesStore, type DeliveryRow } from './records/deliveries.store.js';
export { type DeploymentRow, DeploymentsStore, type TriggerRow } from './records/deployments.store.js';
export { ChainGuard, loopReason } from './running/chain-guard.js';
export { type Incoming, RunAcceptance } from './running/run-acceptance.js';
export { TriggerSecretView } from './views/automations.dto.js';
