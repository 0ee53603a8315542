export { GitHistory, type HistoryHost } from './git-history.js';
export { type Content, type Reading, UNKEPT } from './intake.js';
export { isText } from './unified-diff.js';
