export { Config, envExampleText, mistypedSettings, settings, VERSION } from './config.js';
export { asVaultKeys, CannotStart, type VaultKey } from './settings/setting.js';
