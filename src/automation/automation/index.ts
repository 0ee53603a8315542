export { AutomationsModule } from './automations.module.js';
export {
  type TriggerChange,
  type TriggerFacts,
  type TriggerSecret,
  type TriggerSetup,
  TriggerSetups,
} from './deploying/index.js';
export type {
  AutomationDefinition,
  FileTrigger,
  NotificationTrigger,
  ScheduleTrigger,
  Verification,
  WebhookTrigger,
} from './file/index.js';
export {
  AUTOMATION_TRIGGERS,
  AutomationRunsStore,
  automationCompleted,
  automationDrifted,
  automationFailed,
  automationPaused,
  automationSilent,
  automationSkipped,
  DeliveriesStore,
  type DeliveryRow,
  type DeploymentRow,
  DeploymentsStore,
  type TriggerRow,
} from './records/index.js';
export { ChainGuard, type Incoming, Intake, loopReason } from './running/index.js';
export { nextFires } from './schedules/index.js';
export { TriggerSecretView } from './views/index.js';
