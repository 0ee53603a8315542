import { createSecretKey } from 'node:crypto';
import { asNames, InvalidSetting, type Parse } from '#libs/env-settings/index.js';
import type { WrappingKey } from '#libs/envelope/index.js';
import { InvalidPrivateHosts, PrivateHosts } from '#libs/guarded-fetch/index.js';

/** The service cannot start as things are; the message says what to do. */
export class CannotStart extends Error {}

export const asLimits: Parse<ReadonlyMap<string, number>> = (raw, name) =>
  new Map(
    raw.split(',').map(pair => {
      const [, provider = '', most] = /^\s*([\w-]+)\s*=\s*([1-9]\d{0,5})\s*$/.exec(pair) ?? [];
      if (!provider) throw new InvalidSetting(`${name} must list limits such as anthropic=8, not "${pair}".`);
      return [provider, Number(most)];
    }),
  );

export const asPublicUrl: Parse<string> = (raw, name) => {
  const parsed = URL.parse(raw);
  const isOrigin = parsed && /^https?:$/.test(parsed.protocol) && parsed.href === `${parsed.origin}/`;
  if (!isOrigin)
    throw new InvalidSetting(
      `${name} must be the address of the service without a path, such as https://atelier.example.com, not "${raw}".`,
    );
  return raw;
};

export const asPrivateHosts: Parse<PrivateHosts> = (raw, name) => {
  try {
    return PrivateHosts.parse(asNames(raw, name));
  } catch (error) {
    if (!(error instanceof InvalidPrivateHosts)) throw error;
    throw new InvalidSetting(`${name}: ${error.message}.`);
  }
};

/** Addresses of registries, each with the slash at its end. The message never repeats one: it may hold a password. */
export const asRegistries: Parse<URL[]> = (raw, name) =>
  asNames(raw, name).map(entry => {
    const url = URL.parse(entry.endsWith('/') ? entry : `${entry}/`);
    const isPlain = url && !url.username && !url.password && !url.search && !url.hash;
    if (!isPlain || !/^https?:$/.test(url.protocol))
      throw new InvalidSetting(
        `${name} must list addresses such as https://npm.corp.example/, without a user name or password.`,
      );
    return url;
  });

export const MEBIBYTE = 1024 * 1024;

/** Keys as `id:base64`, separated by commas or white space. The messages never repeat a key. */
export const asVaultKeys: Parse<WrappingKey[]> = (raw, name) => {
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

/** Who the installation is to a service of others. */
export interface ProviderClient {
  readonly id: string;
  readonly secret?: string;
}

/** JSON: `{"github": {"id": "…", "secret": "…"}}`. The message repeats nothing of it. */
export const asClients: Parse<Readonly<Record<string, ProviderClient>>> = (raw, name) => {
  const refused = () =>
    new InvalidSetting(`${name} must be JSON such as {"github": {"id": "…", "secret": "…"}}.`);
  let parsed: unknown;
  try {
    parsed = JSON.parse(raw);
  } catch {
    throw refused();
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) throw refused();
  for (const client of Object.values(parsed)) {
    const { id, secret, ...others } = (client ?? {}) as Record<string, unknown>;
    const isText = typeof id === 'string' && id !== '' && ['string', 'undefined'].includes(typeof secret);
    if (!isText || Object.keys(others).length > 0) throw refused();
  }
  return parsed as Record<string, ProviderClient>;
};
