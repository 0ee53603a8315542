export { DeltaWriter } from './delta-writer.js';
