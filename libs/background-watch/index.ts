export { BackgroundWatch } from './background-watch.js';
