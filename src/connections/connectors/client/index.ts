export { Circuits } from './circuit.js';
export { ConnectorFault, faultOf } from './connector-fault.js';
export { type Authority, type Credential, RemoteServer, type ServerFacts } from './remote-server.js';
