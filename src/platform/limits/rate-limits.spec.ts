import { expect, it } from '@jest/globals';
import { networkOf } from './rate-limits.js';

it.each([
  ['203.0.113.7', '203.0.113.7'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:0DB8:0001::6', '2001:db8:1:0::/64'],
  ['2001:db8::1:2:3:4:5', '2001:db8:0:1::/64'],
  ['::1', '0:0:0:0::/64'],
  ['::', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['_hidden', 'unknown'],
  ['a:b', 'unknown'],
])('takes %s for a caller from %s', (address, network) => {
  expect(networkOf(address)).toBe(network);
});
