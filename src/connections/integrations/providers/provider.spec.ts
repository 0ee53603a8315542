import { expect, it } from '@jest/globals';
import { BUILT_IN } from './built-in.js';
import { checkProvider, filledIn, textAt } from './provider.js';

const providers = BUILT_IN.map(plain => [(plain as { id: string }).id, plain] as const);
const refuseHttp = (url: URL, field: string) => {
  if (url.protocol !== 'https:') throw new Error(`${field} is ${url}`);
};

it.each(providers)('%s is described as the shape says', (_, plain) => {
  const {
    auth,
    scopes_default = [],
    scopes_available = [],
    api,
    identity,
  } = checkProvider(plain, refuseHttp);
  if (scopes_available.length > 0)
    for (const scope of scopes_default) expect(scopes_available).toContain(scope);
  if (auth === 'oauth2') {
    expect(identity).toBeDefined();
    expect(api.hosts).toContain(new URL(api.base_url).host);
  }
});

it('has each id once', () => expect(new Set(providers.map(([id]) => id)).size).toBe(providers.length));

it('fills in what is there', () => {
  expect(filledIn('Bearer {token}{nothing}', { token: 'a{token}' })).toBe('Bearer a{token}');
  expect(filledIn('{constructor}', {})).toBe('');
});

it.each([
  ['id', '7'],
  ['user.name', 'Ada'],
  ['user', undefined],
  ['user.nothing.more', undefined],
  ['constructor', undefined],
])('finds %s', (path, found) => {
  expect(textAt({ id: 7, user: { name: 'Ada' } }, path)).toBe(found);
});
