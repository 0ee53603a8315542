export { ActionSurfaceModule } from './actions.module.js';
