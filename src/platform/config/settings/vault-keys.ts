import { createSecretKey, type KeyObject } from 'node:crypto';
import { InvalidSetting, type Parse } from './setting.js';

/** A key that wraps the keys of secrets. */
export interface VaultKey {
  readonly id: string;
  readonly key: KeyObject;
}

/** Keys as `id:base64`, separated by commas or white space. The messages never repeat a key. */
export const asVaultKeys: Parse<VaultKey[]> = (raw, name) => {
  const keys = raw
    .split(/[\s,]+/)
    .filter(Boolean)
    .map(entry => {
      const [, id = '', text = ''] = /^([\w.-]{1,64}):([\w+/-]{43}=?)$/.exec(entry) ?? [];
      if (!id)
        throw new InvalidSetting(
          `${name} must list keys as id:base64, separated by commas, each of 32 bytes; make one with: openssl rand -base64 32`,
        );
      return { id, key: createSecretKey(Buffer.from(text, 'base64')) };
    });
  const ids = new Set(keys.map(({ id }) => id));
  if (ids.size === 0) throw new InvalidSetting(`${name} holds no key.`);
  if (ids.size < keys.length) throw new InvalidSetting(`${name} must not list one id twice.`);
  return keys;
};
