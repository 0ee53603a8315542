import { describe, expect, it } from '@jest/globals';
import { isMailAddress } from './mail-address.js';

describe('an e-mail address', () => {
  it.each([
    'ada@example.com',
    "o'hara+x@example.com",
    'ü@example.com',
    'a@xn--80ak6aa92e.com',
    '"a,b"@example.com',
  ])('%j is one', text => {
    expect(isMailAddress(text)).toBe(true);
  });

  it.each([
    '"a\r\nBcc: spy@example.net"@example.com',
    '"a b"@example.com',
    'a@example.com\u202e',
    'a\u200b@example.com',
    'a@example.com, b@example.com',
    'ada',
    '',
    undefined,
  ])('%j is none', text => {
    expect(isMailAddress(text)).toBe(false);
  });
});
