export { readYamlMapping, YamlMapping } from './yaml-mapping.js';
