/** The records that stand around the contents of a zip (PKWARE's APPNOTE 6.3.10, sections 4.3 to 4.5). */

/** An entry; sizes and checksum of one that is streamed are known when its content is written. */
export interface EntryFacts {
  /** In UTF-8, with a slash at the end where it is a folder. */
  readonly name: Buffer;
  readonly modified: Date;
  /** Type and permissions, as stat(2) has them. */
  readonly mode: number;
  readonly isDeflated: boolean;
  /** Its checksum and sizes follow the content. */
  readonly isStreamed: boolean;
  /** Its sizes may need more than 32 bits. */
  readonly isHuge: boolean;
  /** Where its local header begins. */
  readonly offset: number;
  readonly crc: number;
  readonly bytes: number;
  readonly packedBytes: number;
}

/** The most that a field of 32 bits, or of 16, can say; one more means: see the field of 64 bits. */
const MAX_32 = 0xfffffffe;
const SEE_64 = 0xffffffff;
const MAX_16 = 0xfffe;
const COUNT_SEE_64 = 0xffff;

const VERSION = 20;
const VERSION_64 = 45;
// On Unix, by version 6.3 of the specification.
const MADE_BY = (3 << 8) | 63;
const SIZES_FOLLOW = 1 << 3;
const NAME_IS_UTF8 = 1 << 11;
const DEFLATE = 8;

/** What stands before a content. */
export function localHeader(entry: EntryFacts): Buffer {
  const unknown = { ...entry, crc: 0, bytes: 0, packedBytes: 0 };
  // Of an entry that is streamed, it says that the sizes after the content have 64 bits.
  const extra = entry.isHuge ? sizesOf64([unknown.bytes, unknown.packedBytes]) : Buffer.alloc(0);
  const record = Buffer.alloc(30);
  record.writeUInt32LE(0x04034b50, 0);
  record.writeUInt16LE(entry.isHuge ? VERSION_64 : VERSION, 4);
  writeFacts(record, 6, entry.isStreamed ? unknown : entry, extra);
  return Buffer.concat([record, entry.name, extra]);
}

/** What stands after the content of an entry that is streamed. */
export function dataDescriptor({ isHuge, crc, bytes, packedBytes }: EntryFacts): Buffer {
  const record = Buffer.alloc(isHuge ? 24 : 16);
  record.writeUInt32LE(0x08074b50, 0);
  record.writeUInt32LE(crc, 4);
  if (isHuge) {
    writeUInt64(record, packedBytes, 8);
    writeUInt64(record, bytes, 16);
  } else {
    record.writeUInt32LE(packedBytes, 8);
    record.writeUInt32LE(bytes, 12);
  }
  return record;
}

/** An entry of the directory at the end. */
export function directoryRecord(entry: EntryFacts): Buffer {
  const { isHuge, bytes, packedBytes, offset } = entry;
  const isFar = offset > MAX_32;
  const wide = [...(isHuge ? [bytes, packedBytes] : []), ...(isFar ? [offset] : [])];
  const extra = Buffer.concat([timestamp(entry.modified), ...(wide.length > 0 ? [sizesOf64(wide)] : [])]);
  const record = Buffer.alloc(46);
  record.writeUInt32LE(0x02014b50, 0);
  record.writeUInt16LE(MADE_BY, 4);
  record.writeUInt16LE(wide.length > 0 ? VERSION_64 : VERSION, 6);
  writeFacts(record, 8, entry, extra);
  record.writeUInt32LE((entry.mode << 16) >>> 0, 38);
  record.writeUInt32LE(isFar ? SEE_64 : offset, 42);
  return Buffer.concat([record, entry.name, extra]);
}

/** The very end: of a directory of so many entries and bytes that begins at `offset`. */
export function endRecord(entries: number, bytes: number, offset: number): Buffer {
  const record = Buffer.alloc(22);
  record.writeUInt32LE(0x06054b50, 0);
  const count = entries > MAX_16 ? COUNT_SEE_64 : entries;
  record.writeUInt16LE(count, 8);
  record.writeUInt16LE(count, 10);
  record.writeUInt32LE(bytes > MAX_32 ? SEE_64 : bytes, 12);
  record.writeUInt32LE(offset > MAX_32 ? SEE_64 : offset, 16);
  const isWide = entries > MAX_16 || bytes > MAX_32 || offset > MAX_32;
  return isWide ? Buffer.concat([endRecord64(entries, bytes, offset), record]) : record;
}

/** As {@link endRecord} in 64 bits, with the record that leads to it. */
function endRecord64(entries: number, bytes: number, offset: number): Buffer {
  const record = Buffer.alloc(76);
  record.writeUInt32LE(0x06064b50, 0);
  // Of what follows this field, without the record that leads here.
  writeUInt64(record, 44, 4);
  record.writeUInt16LE(MADE_BY, 12);
  record.writeUInt16LE(VERSION_64, 14);
  writeUInt64(record, entries, 24);
  writeUInt64(record, entries, 32);
  writeUInt64(record, bytes, 40);
  writeUInt64(record, offset, 48);
  record.writeUInt32LE(0x07064b50, 56);
  writeUInt64(record, offset + bytes, 64);
  record.writeUInt32LE(1, 72);
  return record;
}

/** The fields that a local header and a record of the directory have in common, in the same order. */
function writeFacts(record: Buffer, at: number, entry: EntryFacts, extra: Buffer): void {
  const { date, time } = dosTime(entry.modified);
  record.writeUInt16LE(NAME_IS_UTF8 | (entry.isStreamed ? SIZES_FOLLOW : 0), at);
  record.writeUInt16LE(entry.isDeflated ? DEFLATE : 0, at + 2);
  record.writeUInt16LE(time, at + 4);
  record.writeUInt16LE(date, at + 6);
  record.writeUInt32LE(entry.crc, at + 8);
  record.writeUInt32LE(entry.isHuge ? SEE_64 : entry.packedBytes, at + 12);
  record.writeUInt32LE(entry.isHuge ? SEE_64 : entry.bytes, at + 16);
  record.writeUInt16LE(entry.name.byteLength, at + 20);
  record.writeUInt16LE(extra.byteLength, at + 22);
}

/** The extra field with what has no room in 32 bits. */
function sizesOf64(numbers: readonly number[]): Buffer {
  const field = Buffer.alloc(4 + 8 * numbers.length);
  field.writeUInt16LE(0x0001, 0);
  field.writeUInt16LE(8 * numbers.length, 2);
  for (const [index, number] of numbers.entries()) writeUInt64(field, number, 4 + 8 * index);
  return field;
}

/** The extra field (0x5455, by Info-ZIP) with a time that knows its zone, in seconds since 1970. */
function timestamp(modified: Date): Buffer {
  const seconds = Math.floor(modified.getTime() / 1000);
  const field = Buffer.alloc(9);
  field.writeUInt16LE(0x5455, 0);
  field.writeUInt16LE(5, 2);
  // Modified and accessed: as Info-ZIP says it, though the directory never has the second one.
  field.writeUInt8(3, 4);
  field.writeInt32LE(Math.max(-0x80000000, Math.min(0x7fffffff, seconds)), 5);
  return field;
}

const FIRST_TIME = new Date(1980, 0, 1);
const LAST_TIME = new Date(2107, 11, 31, 23, 59, 58);

/** MS-DOS knows no zones: the time is that of the clock on the wall here. */
function dosTime(modified: Date): { date: number; time: number } {
  const at = modified < FIRST_TIME ? FIRST_TIME : modified > LAST_TIME ? LAST_TIME : modified;
  return {
    date: ((at.getFullYear() - 1980) << 9) | ((at.getMonth() + 1) << 5) | at.getDate(),
    time: (at.getHours() << 11) | (at.getMinutes() << 5) | (at.getSeconds() >> 1),
  };
}

function writeUInt64(record: Buffer, number: number, at: number): void {
  record.writeUInt32LE(number % 2 ** 32, at);
  record.writeUInt32LE(Math.floor(number / 2 ** 32), at + 4);
}
