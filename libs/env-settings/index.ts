export { bytes, count, type Limit, limits } from './limits.js';
export {
  asAddress,
  asChoice,
  asHost,
  asInteger,
  asJsonFile,
  asNames,
  asOrigins,
  asProxies,
  asText,
  asUsd,
  asWebAddress,
} from './parse.js';
export {
  envExample,
  InvalidSetting,
  optional,
  type Parse,
  type Setting,
  setting,
  settingsDocument,
} from './setting.js';
