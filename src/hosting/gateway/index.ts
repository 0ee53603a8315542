export { refuseUpgrade, sendNothingPublished, sendProblem } from './answers.js';
export { Gateway } from './gateway.js';
export { GatewayModule } from './gateway.module.js';
export { GatewayProcess } from './gateway-process.js';
export { GatewayFront } from './gateway-server.js';
export { type HostedContent, HostedContents, type OfferedActions } from './hosted-contents.js';
export { HostedUpgrades } from './hosted-upgrades.js';
export { Offload } from './offload.js';
