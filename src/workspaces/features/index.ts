export { FeaturesModule } from './features.module.js';
