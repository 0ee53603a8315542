export { Closures } from './closures.js';
export { Deployer } from './deployer.js';
export { TriggerSetups } from './trigger-kinds.js';
