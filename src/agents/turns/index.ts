export { StepCaller } from './model-calls.js';
export { TurnsModule } from './turns.module.js';
