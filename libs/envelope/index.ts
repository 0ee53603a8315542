export { decrypt, type Envelope, encrypt, open, rewrap, seal, type WrappingKey } from './envelope.js';
export { KeyFile } from './key-file.js';
