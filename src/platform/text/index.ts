export { plainJson, plainLine, plainName, shortName } from './text.js';
