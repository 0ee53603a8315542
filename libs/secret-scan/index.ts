export { type FoundSecret, SecretScan } from './secret-scan.js';
