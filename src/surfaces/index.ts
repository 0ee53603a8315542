export { ActionSurfaceModule } from './actions/action-surface.module.js';
