export type { FlowHandler, FlowOutcome, FlowRequest, ReturnedFlow } from './flow.js';
export { OAuthFlows, type StartedFlow } from './flows.js';
export { FlowsModule } from './flows.module.js';
