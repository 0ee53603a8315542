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
export { envExample, InvalidSetting, optional, type Parse, type Setting, setting } from './setting.js';
