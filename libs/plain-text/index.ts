export { ONE_LINE, VISIBLE_LINE } from './one-line.js';
export { plainJson, plainLine, plainName, shortName } from './plain-text.js';
