export { isMailAddress } from './mail-address.js';
export { plainName } from './plain-name.js';
export { plainJson, plainLine, shortName } from './plain-text.js';
