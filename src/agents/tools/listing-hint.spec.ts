import { expect, it } from '@jest/globals';
import { listingOf } from './listing-hint.js';

const NAMES = new Set(['site_list', 'site_version_list', 'chat_list', 'site_get']);

it.each([
  ['site_get', 'id', 'site_list'],
  ['site_version_get', 'id', 'site_version_list'],
  ['site_version_promote', 'version_id', 'site_version_list'],
  ['site_version_promote', 'site_id', 'site_list'],
  ['run_list', 'chat_id', 'chat_list'],
  ['loop_get', 'id', undefined],
  ['site_list', 'id', undefined],
])('says for %s which action lists what %s is of', (action, field, listing) => {
  expect(listingOf(action, field, NAMES)).toBe(listing);
});
