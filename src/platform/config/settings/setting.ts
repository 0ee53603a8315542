import { createSecretKey, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { InvalidPrivateHosts, PrivateHosts } from '#libs/guarded-fetch/index.js';

/** How one environment variable is read: its text form, its default and what it means to an operator. */
export interface Setting<T> {
  readonly name: string;
  readonly description: string;
  /** What `.env.example` shows; undefined for a setting that is unset by default. */
  readonly shown: string | undefined;
  read(raw: string | undefined): T;
}

export type Parse<T> = (raw: string, name: string) => T;

/** The service cannot start as things are; the message says what to do. */
export class CannotStart extends Error {}

/** A setting that an operator got wrong; the message says which, and what it takes. */
export class InvalidSetting extends CannotStart {}

export function setting<T>(name: string, description: string, parse: Parse<T>, fallback: T): Setting<T> {
  return {
    name,
    description,
    shown: fallback === undefined || fallback instanceof Map ? undefined : String(fallback),
    read: raw => (raw === undefined || raw === '' ? fallback : parse(raw, name)),
  };
}

/** A setting without a default. */
export const optional = <T>(name: string, description: string, parse: Parse<T>): Setting<T | undefined> =>
  setting<T | undefined>(name, description, parse, undefined);

export const asText: Parse<string> = raw => raw;

export const asInteger =
  (min: number, max: number): Parse<number> =>
  (raw, name) => {
    const value = Number(raw);
    if (!Number.isInteger(value) || value < min || value > max)
      throw new InvalidSetting(`${name} must be a whole number from ${min} to ${max}, not "${raw}".`);
    return value;
  };

export const asUsd: Parse<number> = (raw, name) => {
  const value = Number(raw);
  if (!Number.isFinite(value) || value < 0)
    throw new InvalidSetting(`${name} must be an amount of USD such as 25 or 0.5, not "${raw}".`);
  return value;
};

export const asChoice =
  <const V extends string>(values: readonly V[]): Parse<V> =>
  (raw, name) => {
    const value = values.find(candidate => candidate === raw);
    if (value === undefined)
      throw new InvalidSetting(`${name} must be one of ${values.join(', ')}, not "${raw}".`);
    return value;
  };

export const asJsonFile: Parse<unknown> = (path, name) => {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new InvalidSetting(`${name} cannot be read: ${(error as Error).message}.`);
  }
};

export const asProxies: Parse<string[]> = (raw, name) => {
  const places = raw.split(',').map(place => place.trim());
  for (const place of places)
    if (!/^(loopback|linklocal|uniquelocal)$/.test(place) && isIP(place.split('/')[0] ?? '') === 0)
      throw new InvalidSetting(
        `${name} must list addresses, networks (10.0.0.0/8), loopback, linklocal or uniquelocal, not "${place}".`,
      );
  return places;
};

export const asOrigins: Parse<string[]> = (raw, name) =>
  raw
    .split(',')
    .map(origin => origin.trim())
    .filter(Boolean)
    .map(origin => {
      const parsed = URL.parse(origin);
      if (!parsed || parsed.origin === 'null' || parsed.href !== `${parsed.origin}/`)
        throw new InvalidSetting(
          `${name} must list origins such as https://app.example.com, not "${origin}".`,
        );
      return parsed.origin;
    });

export const asLimits: Parse<ReadonlyMap<string, number>> = (raw, name) =>
  new Map(
    raw.split(',').map(pair => {
      const [, provider = '', most] = /^\s*([\w-]+)\s*=\s*([1-9]\d{0,5})\s*$/.exec(pair) ?? [];
      if (!provider) throw new InvalidSetting(`${name} must list limits such as anthropic=8, not "${pair}".`);
      return [provider, Number(most)];
    }),
  );

/** An address of one of `protocols`; `example` shows what is meant. The message never repeats it: it may hold a password. */
export const asAddress =
  (protocols: readonly string[], example: string): Parse<string> =>
  (raw, name) => {
    if (!protocols.includes(URL.parse(raw)?.protocol ?? ''))
      throw new InvalidSetting(`${name} must be an address such as ${example}.`);
    return raw;
  };

export const asWebAddress = (example: string) => asAddress(['http:', 'https:'], example);

export const asPublicUrl: Parse<string> = (raw, name) => {
  const parsed = URL.parse(raw);
  const isOrigin = parsed && /^https?:$/.test(parsed.protocol) && parsed.href === `${parsed.origin}/`;
  if (!isOrigin)
    throw new InvalidSetting(
      `${name} must be the address of the service without a path, such as https://atelier.example.com, not "${raw}".`,
    );
  return raw;
};

const LABEL = /^[a-z\d_]([a-z\d_-]{0,61}[a-z\d_])?$/i;

/** An IP address, or a host name: whose last label is not all digits, which would be a mistyped address (RFC 1123, 2.1). */
export const asHost: Parse<string> = (raw, name) => {
  const labels = raw.split('.');
  const isName = labels.every(label => LABEL.test(label)) && !/^\d+$/.test(labels.at(-1) ?? '');
  if (isIP(raw) === 0 && !isName)
    throw new InvalidSetting(
      `${name} must be an address of this machine, such as 127.0.0.1 or 0.0.0.0 for all, not "${raw}".`,
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

export const asNames: Parse<string[]> = raw =>
  raw
    .split(',')
    .map(name => name.trim())
    .filter(Boolean);

export const MEBIBYTE = 1024 * 1024;

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
