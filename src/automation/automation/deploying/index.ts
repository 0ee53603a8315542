export { Closures } from './closures.js';
export { Deployer } from './deployer.js';
export {
  type TriggerChange,
  type TriggerFacts,
  type TriggerSecret,
  type TriggerSetup,
  TriggerSetups,
} from './trigger-kinds.js';
