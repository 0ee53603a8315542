import { crc32, deflateSync } from 'node:zlib';
import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { imageInfo } from './index.js';

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}
function png(width: number, height: number): Buffer {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head[8] = 8;
  const pixels = deflateSync(Buffer.alloc((width + 1) * height));
  const signature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
  return Buffer.concat([
    signature,
    chunk('IHDR', head),
    chunk('IDAT', pixels),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}
const JPEG = Buffer.from(
  'ffd8ffe000104a46494600010100000100010000ffc0000b080003000501011100ffda0008010100003f00d2cf20ffd9',
  'hex',
);
const GIF = Buffer.from('47494638396107000500800000000000ffffff2c00000000070005000002' + '024401003b', 'hex');
const WEBP = Buffer.from(
  '52494646240000005745425056503820' +
    '180000003001009d012a0200030002003425a40003700 0fefbfd5000'.replace(' ', ''),
  'hex',
);

it('says what a picture is, and how large', () => {
  expect(imageInfo(png(4, 3))).toEqual({ mediaType: 'image/png', width: 4, height: 3, fault: null });
  expect(imageInfo(JPEG)).toEqual({ mediaType: 'image/jpeg', width: 5, height: 3, fault: null });
  expect(imageInfo(GIF)).toEqual({ mediaType: 'image/gif', width: 7, height: 5, fault: null });
  expect(imageInfo(WEBP)).toMatchObject({ mediaType: 'image/webp', width: 2, height: 3 });
  expect(imageInfo(Buffer.from('no picture'))).toBeUndefined();
});

it('says of one that is broken, or lies, what is wrong with it', () => {
  const whole = png(4, 3);
  expect(imageInfo(whole.subarray(0, -6))?.fault).toBe('it is cut off');
  expect(imageInfo(whole.subarray(0, 8))?.fault).toBe('it is cut off');
  const lying = Buffer.from(whole);
  lying[20] = 9;
  expect(imageInfo(lying)?.fault).toBe('a part of it does not match its checksum');
  const long = Buffer.from(whole);
  long.writeUInt32BE(0xfffffff0, 8);
  expect(imageInfo(long)?.fault).toBe('it is cut off');
  expect(imageInfo(png(0, 3))?.fault).toBe('it has no size');
  expect(imageInfo(JPEG.subarray(0, 30))?.fault).toBe('it is cut off');
  expect(imageInfo(GIF.subarray(0, 12))?.fault).toBe('it is cut off');
});

it('never throws, whatever follows the first bytes', () => {
  const starts = [png(1, 1).subarray(0, 12), JPEG.subarray(0, 4), GIF.subarray(0, 8), WEBP.subarray(0, 16)];
  fc.assert(
    fc.property(fc.constantFrom(...starts), fc.uint8Array({ maxLength: 64 }), (start, rest) => {
      imageInfo(Buffer.concat([start, rest]));
    }),
    { seed: 1 },
  );
});
