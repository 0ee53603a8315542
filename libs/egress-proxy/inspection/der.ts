/** Encodes ASN.1 values by the Distinguished Encoding Rules (X.690), as far as certificates need them. Nothing is decoded. */

function tagged(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  if (length < 0x80) return Buffer.concat([Buffer.of(tag, length), content]);
  const hex = length.toString(16);
  const size = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex');
  return Buffer.concat([Buffer.of(tag, 0x80 | size.length), size, content]);
}

export const sequence = (...parts: readonly Buffer[]): Buffer => tagged(0x30, ...parts);
export const setOf = (part: Buffer): Buffer => tagged(0x31, part);
export const octets = (content: Buffer): Buffer => tagged(0x04, content);
export const text = (content: string): Buffer => tagged(0x0c, Buffer.from(content));
export const isTrue: Buffer = tagged(0x01, Buffer.of(0xff));

/** `[number]`; what is inside stands for itself (`constructed`) or is the content of a value whose type is known. */
export const context = (number: number, content: Buffer, constructed = true): Buffer =>
  tagged((constructed ? 0xa0 : 0x80) | number, content);

/** A number that is not negative, its most significant byte first. */
export function integer(bytes: Buffer): Buffer {
  let at = 0;
  while (at < bytes.length - 1 && bytes[at] === 0) at++;
  const value = bytes.subarray(at);
  return tagged(0x02, ...((value[0] ?? 0) >= 0x80 ? [Buffer.of(0)] : []), value);
}

export const bits = (content: Buffer, unused = 0): Buffer => tagged(0x03, Buffer.of(unused), content);

/** An object identifier, such as `2.5.29.17`. */
export function identifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  return tagged(0x06, Buffer.from([first * 40 + second, ...rest].flatMap(base128)));
}

function base128(value: number): number[] {
  const groups = [value & 0x7f];
  for (let left = value >>> 7; left > 0; left >>>= 7) groups.unshift((left & 0x7f) | 0x80);
  return groups;
}

/** A time to the second, in the form that RFC 5280, section 4.1.2.5, asks for. */
export function time(date: Date): Buffer {
  const digits = date.toISOString().replace(/[-:T]|\.\d+/g, '');
  return date.getUTCFullYear() < 2050
    ? tagged(0x17, Buffer.from(digits.slice(2)))
    : tagged(0x18, Buffer.from(digits));
}
