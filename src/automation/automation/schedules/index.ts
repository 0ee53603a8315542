export { nextFires } from './next-fires.js';
