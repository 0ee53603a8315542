export { LoopsModule } from './loops.module.js';
export { loopFinished, type Outcome } from './records/index.js';
