import utils from 'pg/lib/utils.js';

/** What `Buffer` has and its types lack: it writes a text as UTF-8 and says how many bytes that took. */
interface Utf8 {
  utf8Write(text: string, at: number): number;
}

const BIND = 0x42;
const TEXT = 0;
const BINARY = 1;
/** The longest that UTF-8 makes of a UTF-16 code unit. */
const MAX_UNIT_BYTES = 3;
const KEPT_BYTES = 64 * 1024;

const DESCRIBE_PORTAL = Buffer.from('D\0\0\0\x06P\0', 'latin1');
const EXECUTE_AND_SYNC = Buffer.from('E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04', 'latin1');

/** Where messages are made: each is copied from here once its length is known. */
class Draft {
  bytes = Buffer.allocUnsafe(KEPT_BYTES) as Buffer & Utf8;
  length = 0;

  begin(): void {
    if (this.bytes.length > KEPT_BYTES) this.bytes = Buffer.allocUnsafe(KEPT_BYTES) as Buffer & Utf8;
    this.length = 0;
  }

  reserve(bytes: number): number {
    const at = this.length;
    const end = at + bytes;
    if (end > this.bytes.length) {
      const before = this.bytes;
      this.bytes = Buffer.allocUnsafe(Math.max(end, before.length * 2)) as Buffer & Utf8;
      before.copy(this.bytes, 0, 0, at);
    }
    this.length = end;
    return at;
  }

  int16(value: number): void {
    const at = this.reserve(2);
    this.bytes[at] = value >>> 8;
    this.bytes[at + 1] = value;
  }

  setInt32(at: number, value: number): void {
    const { bytes } = this;
    bytes[at] = value >>> 24;
    bytes[at + 1] = value >>> 16;
    bytes[at + 2] = value >>> 8;
    bytes[at + 3] = value;
  }

  text(text: string): number {
    const at = this.reserve(text.length * MAX_UNIT_BYTES);
    const size = this.bytes.utf8Write(text, at);
    this.length = at + size;
    return size;
  }

  add(bytes: Uint8Array): void {
    const at = this.reserve(bytes.length);
    this.bytes.set(bytes, at);
  }

  copy(): Buffer {
    const message = Buffer.allocUnsafe(this.length);
    this.bytes.copy(message, 0, 0, this.length);
    return message;
  }
}

const draft = new Draft();

/**
 * Binds the values to a prepared statement, executes it and ends there (PostgreSQL, 54.2.3 "Extended Query"): all in one piece.
 * With `describe`, the server says how the rows look. Throws where a value cannot be sent.
 */
export function executionOf(name: string, values: readonly unknown[], describe: boolean): Buffer {
  draft.begin();
  // The kind of the message, its length, and the name of the portal, which has none.
  const head = draft.reserve(6);
  draft.text(name);
  draft.bytes[draft.reserve(1)] = 0;
  draft.int16(values.length);
  const formats = draft.reserve(values.length * 2);
  draft.int16(values.length);
  for (let n = 0; n < values.length; n++) {
    const at = formats + 2 * n;
    // Writing a value may move the draft.
    const format = addValue(values[n]);
    draft.bytes[at] = 0;
    draft.bytes[at + 1] = format;
  }
  // All columns of the rows come as text.
  draft.int16(0);
  draft.bytes[head] = BIND;
  draft.setInt32(head + 1, draft.length - head - 1);
  draft.bytes[head + 5] = 0;
  if (describe) draft.add(DESCRIBE_PORTAL);
  draft.add(EXECUTE_AND_SYNC);
  return draft.copy();
}

/** Writes a value with its length, which is -1 for null; answers how it is written. */
function addValue(value: unknown): number {
  const sent = typeof value === 'string' ? value : utils.prepareValue(value);
  const at = draft.reserve(4);
  if (sent === null) {
    draft.setInt32(at, -1);
    return TEXT;
  }
  if (typeof sent === 'string') {
    const size = draft.text(sent);
    draft.setInt32(at, size);
    return TEXT;
  }
  draft.add(sent);
  draft.setInt32(at, sent.length);
  return BINARY;
}
