export { CallLost, NotHere, type RpcHooks } from './message.js';
export { RpcModule } from './rpc.module.js';
export { RpcClient } from './rpc-client.js';
export { RpcServer } from './rpc-server.js';
