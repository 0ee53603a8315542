export { addLogContext, createLog, Log, NestLog, withLogContext } from './log.js';
