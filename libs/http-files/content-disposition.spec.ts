import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { contentDisposition, isHarmless } from './send-file.js';

describe('Content-Disposition', () => {
  it('is a header that carries any name there and back', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), name => {
        const header = contentDisposition('attachment', name);
        const [, ascii, encoded = ''] =
          /^attachment; filename="([^"\\%]*)"; filename\*=UTF-8''([\w!#$&+.^`|~%-]*)$/.exec(header) ?? [];
        return /^[\x20-\x7e]*$/.test(header) && ascii !== undefined && decodeURIComponent(encoded) === name;
      }),
      { seed: 1 },
    );
  });

  it('stands half a surrogate pair', () => {
    expect(contentDisposition('inline', '\ud800')).toBe(`inline; filename="_"; filename*=UTF-8''%EF%BF%BD`);
  });
});

describe('what may be shown', () => {
  it.each(['image/png', 'application/pdf', 'text/plain', 'audio/mpeg', 'video/mp4'])('is %s', type => {
    expect(isHarmless(type)).toBe(true);
  });

  it.each([
    'text/html',
    'image/svg+xml',
    'application/xhtml+xml',
    'text/xml',
    'text/css',
    'application/javascript',
    'text/plainx',
    'image/pngx',
    'audio',
    '',
  ])('is not %s', type => {
    expect(isHarmless(type)).toBe(false);
  });
});
