export { lineDiff } from './line-diff.js';
