export { Config, envExampleText, mistypedSettings, settings, VERSION } from './config.js';
export { asVaultKeys, CannotStart } from './settings/setting.js';
