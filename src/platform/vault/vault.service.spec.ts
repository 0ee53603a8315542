import { inspect } from 'node:util';
import { expect, it } from '@jest/globals';
import { Secret } from './vault.service.js';

it('is revealed only where that is asked for', () => {
  const secret = new Secret('sk-live-abc');
  const shown = [
    String(secret),
    `${secret}`,
    JSON.stringify({ secret }),
    inspect(secret, { showHidden: true, depth: null, getters: true }),
    JSON.stringify(structuredClone({ secret })),
    Object.values(secret).join(),
  ];
  for (const text of shown) expect(text).not.toContain('abc');
  expect(secret.reveal()).toBe('sk-live-abc');
});
