import { crc32 } from 'node:zlib';

/** What a picture is, as far as its structure says. */
export interface ImageInfo {
  readonly mediaType: 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp';
  readonly width: number;
  readonly height: number;
  /** In what it is broken; null where its parts fit together. A picture that is cut off or lies about its parts is none that a reader can show. */
  readonly fault: string | null;
}

/** Reads the structure of a PNG, JPEG, GIF or WebP, and no pixels: in time that grows with its bytes. Undefined for anything else. */
export function imageInfo(bytes: Buffer): ImageInfo | undefined {
  if (bytes.subarray(0, 8).equals(PNG)) return told('image/png', png(bytes));
  if (bytes.length > 2 && bytes.readUInt16BE(0) === 0xffd8) return told('image/jpeg', jpeg(bytes));
  if (/^GIF8[79]a/.test(bytes.toString('latin1', 0, 6))) return told('image/gif', gif(bytes));
  if (/^RIFF.{4}WEBP/s.test(bytes.toString('latin1', 0, 12))) return told('image/webp', webp(bytes));
  return undefined;
}

const PNG = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');

interface Read {
  readonly width?: number;
  readonly height?: number;
  readonly fault?: string;
}

function told(mediaType: ImageInfo['mediaType'], { width = 0, height = 0, fault }: Read): ImageInfo {
  const none = width < 1 || height < 1 ? 'it has no size' : null;
  return { mediaType, width, height, fault: fault ?? none };
}

function png(bytes: Buffer): Read {
  let size: Read = {};
  let hasData = false;
  for (let at = PNG.length; at + 12 <= bytes.length; ) {
    const length = bytes.readUInt32BE(at);
    const end = at + 12 + length;
    if (end > bytes.length) return { ...size, fault: 'it is cut off' };
    const type = bytes.toString('latin1', at + 4, at + 8);
    if (crc32(bytes.subarray(at + 4, end - 4)) !== bytes.readUInt32BE(end - 4))
      return { ...size, fault: 'a part of it does not match its checksum' };
    if (type === 'IHDR' && length === 13)
      size = { width: bytes.readUInt32BE(at + 8), height: bytes.readUInt32BE(at + 12) };
    if (type === 'IDAT') hasData = true;
    if (type === 'IEND') return hasData ? size : { ...size, fault: 'it has no pixels' };
    at = end;
  }
  return { ...size, fault: 'it is cut off' };
}

function jpeg(bytes: Buffer): Read {
  for (let at = 2; at + 4 <= bytes.length; ) {
    if (bytes[at] !== 0xff) return { fault: 'its parts do not follow each other' };
    const marker = bytes[at + 1] ?? 0;
    if (marker === 0xff) {
      at++;
      continue;
    }
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    const length = bytes.readUInt16BE(at + 2);
    if (length < 2) return { fault: 'its parts do not follow each other' };
    if (!isFrame) at += 2 + length;
    else if (at + 9 <= bytes.length) {
      const size = { height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) };
      return bytes.lastIndexOf(Buffer.from([0xff, 0xd9])) > at ? size : { ...size, fault: 'it is cut off' };
    } else break;
  }
  return { fault: 'it is cut off' };
}

function gif(bytes: Buffer): Read {
  if (bytes.length < 14) return { fault: 'it is cut off' };
  const size = { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) };
  return bytes.lastIndexOf(0x3b) > 12 && bytes.includes(0x2c, 13)
    ? size
    : { ...size, fault: 'it is cut off' };
}

function webp(bytes: Buffer): Read {
  if (bytes.length < 30) return { fault: 'it is cut off' };
  const fault = bytes.readUInt32LE(4) + 8 > bytes.length ? 'it is cut off' : undefined;
  const type = bytes.toString('latin1', 12, 16);
  if (type === 'VP8X')
    return { width: 1 + bytes.readUIntLE(24, 3), height: 1 + bytes.readUIntLE(27, 3), fault };
  if (type === 'VP8 ')
    return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff, fault };
  if (type !== 'VP8L' || bytes[20] !== 0x2f) return { fault: 'its parts are not known' };
  const bits = bytes.readUInt32LE(21);
  return { width: 1 + (bits & 0x3fff), height: 1 + ((bits >>> 14) & 0x3fff), fault };
}
