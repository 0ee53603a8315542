export { task, Workers } from './workers.js';
