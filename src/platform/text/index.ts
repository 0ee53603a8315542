export { isMailAddress, plainJson, plainLine, plainName, shortName } from './text.js';
