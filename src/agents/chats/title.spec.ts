import { expect, it } from '@jest/globals';
import { titleOf } from './title.js';

const long =
  'Please read all the invoices of this year and tell me which of them have not been paid until today';

it.each([
  ['Plan the launch', 'Plan the launch'],
  ['\n\n  ## Plan the **launch** of `x`\nwith all details', 'Plan the launch of x'],
  ['---\n```\n- first\tthing', 'first thing'],
  ['a\u0000b\u202e', 'a b'],
  ['', 'New Chat'],
  ['???', 'New Chat'],
  [long, 'Please read all the invoices of this year and tell me which of them have not…'],
  ['x'.repeat(200), `${'x'.repeat(79)}…`],
  [`${'x'.repeat(78)}😀😀`, `${'x'.repeat(78)}…`],
])('of %j is %j', (text, title) => expect(titleOf(text)).toBe(title));
