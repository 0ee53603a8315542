export { addLogContext, createLog, Log, NestLog, withLogContext } from './log.js';
export { lostLines, survivesLostOutput } from './output.js';
