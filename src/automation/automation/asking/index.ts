export { AskedRuns, ledBy } from './asked-runs.js';
export { RunViews } from './run-views.js';
