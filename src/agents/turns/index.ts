export { TurnsModule } from './turns.module.js';
