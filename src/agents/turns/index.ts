export { type ModelAnswer, StepCaller } from './model-calls.js';
export { TurnsModule } from './turns.module.js';
