export { GatheredWork, type GatherRules } from './gathered-work.js';
