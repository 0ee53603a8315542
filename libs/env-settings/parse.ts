import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { InvalidSetting, type Parse } from './setting.js';

export const asText: Parse<string> = raw => raw;

export const asInteger =
  (min: number, max: number): Parse<number> =>
  (raw, name) => {
    const value = raw.trim() === '' ? Number.NaN : Number(raw);
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

/** An address of one of `protocols`; `example` shows what is meant. The message never repeats it: it may hold a password. */
export const asAddress =
  (protocols: readonly string[], example: string): Parse<string> =>
  (raw, name) => {
    if (!protocols.includes(URL.parse(raw)?.protocol ?? ''))
      throw new InvalidSetting(`${name} must be an address such as ${example}.`);
    return raw;
  };

export const asWebAddress = (example: string) => asAddress(['http:', 'https:'], example);

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

export const asNames: Parse<string[]> = raw =>
  raw
    .split(',')
    .map(name => name.trim())
    .filter(Boolean);
