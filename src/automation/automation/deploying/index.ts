export { Closures } from './closures.js';
export { ConnectionNamesStore } from './connection-names.store.js';
export { Deployer } from './deployer.js';
export { DriftWatch } from './drift-watch.js';
export { StandIns } from './stand-ins.js';
export {
  type TriggerChange,
  type TriggerFacts,
  type TriggerSecret,
  type TriggerSetup,
  TriggerSetups,
} from './trigger-kinds.js';
