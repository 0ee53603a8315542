import { Parser } from 'pg-protocol/dist/parser.js';
import { boundReader } from './bounded-reader.js';
import { PreparedQuery } from './prepared-query.js';

boundReader();

/** Messages of the server (PostgreSQL, 54.7 "Message Formats"): their first byte. */
const BIND_COMPLETE = 0x32;
const DATA_ROW = 0x44;
const COMMAND_COMPLETE = 0x43;
const NO_DATA = 0x6e;
const READY_FOR_QUERY = 0x5a;

/** That byte, and the length of the rest. */
const HEAD_BYTES = 5;
/** That length counts itself; PostgreSQL makes no message longer than its longest value. */
const MIN_SIZE = 4;
const MAX_SIZE = 2 ** 30;

/** What `Buffer` has and its types lack. */
type Bytes = Buffer & {
  utf8Slice(from: number, to: number): string;
  latin1Slice(from: number, to: number): string;
};

const NO_END = 'A message of the database has no end';
const CUT_ROW = 'A row of the database is longer than its message';

interface Message {
  readonly name: string;
}

/**
 * Reads what a server sends. What answers a {@link PreparedQuery} is read here, and told to nothing else; everything else, and
 * what has not arrived as a whole, is read by the parser of `pg`.
 */
export class MessageReader {
  private readonly parser = new Parser();

  constructor(
    /** The query that is being answered. */
    private readonly active: () => unknown,
    private readonly tell: (event: string, message: object) => void,
  ) {}

  take(data: Buffer): void {
    const at = this.isBetweenMessages ? this.readAnswer(data as Bytes) : 0;
    if (at < data.length) this.parser.parse(at === 0 ? data : data.subarray(at), this.emit);
  }

  private get isBetweenMessages(): boolean {
    return (this.parser as unknown as { bufferLength: number }).bufferLength === 0;
  }

  private readonly emit = (message: unknown) => {
    const { name } = message as Message;
    this.tell(name === 'error' ? 'errorMessage' : name, message as Message);
  };

  /** Where the first message begins that is not read here. */
  private readAnswer(data: Bytes): number {
    let at = 0;
    while (at + HEAD_BYTES <= data.length) {
      const size = data.readUInt32BE(at + 1);
      // Waiting for the rest of what is no message would take until the deadline of the query.
      if (size < MIN_SIZE || size > MAX_SIZE)
        throw new RangeError('A message of the database has no such size');
      const end = at + 1 + size;
      const query = this.active();
      if (!(query instanceof PreparedQuery) || end > data.length || !this.read(query, data, at, end)) break;
      at = end;
    }
    return at;
  }

  /** Reads one message; false where it is not read here. */
  private read(query: PreparedQuery, data: Bytes, from: number, end: number): boolean {
    const at = from + HEAD_BYTES;
    switch (data[from]) {
      case BIND_COMPLETE:
        return true;
      case DATA_ROW:
        query.handleDataRow({ fields: fieldsOf(data, at, end) });
        return true;
      case COMMAND_COMPLETE:
        if (end <= at || data[end - 1] !== 0) throw new RangeError(NO_END);
        query.handleCommandComplete({ text: data.latin1Slice(at, end - 1) });
        return true;
      case NO_DATA:
        query.handleRowDescription({ fields: [] });
        return true;
      case READY_FOR_QUERY:
        if (end <= at) throw new RangeError(NO_END);
        this.tell('readyForQuery', { name: 'readyForQuery', status: data.latin1Slice(at, at + 1) });
        return true;
      default:
        return false;
    }
  }
}

/** The columns of a row as text. */
function fieldsOf(data: Bytes, from: number, end: number): (string | null)[] {
  const fields: (string | null)[] = [];
  let at = from + 2;
  if (at > end) throw new RangeError(CUT_ROW);
  for (let left = data.readInt16BE(from); left > 0; left--) {
    if (at + 4 > end) throw new RangeError(CUT_ROW);
    const size = data.readInt32BE(at);
    at += 4;
    if (size < 0) {
      fields.push(null);
      continue;
    }
    if (at + size > end) throw new RangeError(CUT_ROW);
    fields.push(data.utf8Slice(at, at + size));
    at += size;
  }
  return fields;
}
