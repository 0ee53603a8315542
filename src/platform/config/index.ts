export {
  Config,
  envExampleText,
  mistypedSettings,
  settings,
  settingsDocumentText,
  unknownSettings,
  VERSION,
} from './config.js';
export { asVaultKeys, CannotStart } from './settings/setting.js';
