export { isMailAddress } from './mail-address.js';
export { plainJson, plainLine, shortName } from './plain-text.js';
