export { AutomationsModule } from './automations.module.js';
export {
  type TriggerChange,
  type TriggerFacts,
  type TriggerSetup,
  TriggerSetups,
} from './deploying/index.js';
export type { ScheduleTrigger } from './file/index.js';
export {
  AUTOMATION_TRIGGERS,
  AutomationRunsStore,
  DeliveriesStore,
  type DeliveryRow,
  type DeploymentRow,
  DeploymentsStore,
  type TriggerRow,
} from './records/index.js';
export { Intake } from './running/index.js';
export { nextFires } from './schedules/index.js';
