export { DueTimer } from './due-timer.js';
