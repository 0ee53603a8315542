export { plainJson, plainLine, plainName, shortName } from './plain-text.js';
