export { LandingModule } from './landing.module.js';
