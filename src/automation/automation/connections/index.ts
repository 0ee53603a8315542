export { ConnectionPauses } from './connection-pauses.js';
export { ConnectionUseStore } from './connection-use.store.js';
