export { canonicalJson, NestedTooDeeply } from './canonical-json.js';
