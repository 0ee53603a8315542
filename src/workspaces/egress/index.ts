export {
  CredentialRules,
  type CredentialSource,
  credentialsTopic,
  type SandboxCredential,
  type SandboxUser,
} from './credential-rules.js';
export { EgressModule } from './egress.module.js';
export { EgressStore, egressTopic } from './egress.store.js';
export { type EgressList, EgressSockets, type OpenEgress, WORKSPACE_EGRESS } from './egress-sockets.js';
export { unreachedHost } from './unreached-host.js';
