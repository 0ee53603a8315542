export { InstructionsModule } from './instructions.module.js';
export { InstructionsStore } from './instructions.store.js';
