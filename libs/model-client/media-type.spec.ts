import { describe, expect, it } from '@jest/globals';
import { kindOf, mediaTypeOf } from './media-type.js';

describe('the media type of a file', () => {
  it.each([
    ['image/png', Buffer.from('\x89PNG\r\n\x1a\nrest', 'latin1'), 'image'],
    ['image/jpeg', Buffer.from([0xff, 0xd8, 0xff, 0xe0]), 'image'],
    ['image/gif', Buffer.from('GIF89a…'), 'image'],
    ['image/webp', Buffer.from('RIFF\n\0\0\0WEBP', 'latin1'), 'image'],
    ['application/pdf', Buffer.from('%PDF-1.7'), 'pdf'],
    ['text/plain', Buffer.from('Grüße'), null],
  ])('%s is seen from what is in it', (mediaType, bytes, kind) => {
    expect(mediaTypeOf(bytes)).toBe(mediaType);
    expect(kindOf(mediaType)).toBe(kind);
  });

  it.each([
    ['has a zero byte', Buffer.from('a\0b')],
    ['is not UTF-8', Buffer.from([0xc3, 0x28])],
  ])('is not known where it %s', (_, bytes) => {
    expect(mediaTypeOf(bytes)).toBeUndefined();
  });
});
