export { AskedRuns, ledBy } from './asked-runs.js';
export { RunViews, runView } from './run-views.js';
