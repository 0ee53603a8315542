export { Config } from './config.js';
export { envExample } from './env-example.js';
export { mistypedSettings } from './mistyped-settings.js';
export { InvalidSetting } from './settings/setting.js';
export { asVaultKeys, type VaultKey } from './settings/vault-keys.js';
export { settings } from './settings.js';
export { VERSION } from './version.js';
