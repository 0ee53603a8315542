export { Config, envExample, mistypedSettings, settings, VERSION } from './config.js';
export { asVaultKeys, CannotStart, InvalidSetting, type VaultKey } from './settings/setting.js';
