import { createSocket, type Socket } from 'node:dgram';

const TXT = 16;
const NAME_ERROR = 3;

/** A name server that knows TXT records alone. */
export class FakeNameServer {
  readonly records = new Map<string, string[]>();
  /** The code of every answer, as 2 for a failure of the server. */
  failure: number | undefined;

  private constructor(
    private readonly socket: Socket,
    readonly address: string,
  ) {
    socket.on('message', (query, from) => socket.send(this.answer(query), from.port, from.address));
  }

  static async start(): Promise<FakeNameServer> {
    const socket = createSocket('udp4');
    await new Promise<void>(resolve => socket.bind(0, '127.0.0.1', resolve));
    return new FakeNameServer(socket, `127.0.0.1:${socket.address().port}`);
  }

  stop(): Promise<void> {
    return new Promise(resolve => this.socket.close(() => resolve()));
  }

  /** RFC 1035, section 4: the question again, and what there is to it. */
  private answer(query: Buffer): Buffer {
    const [name, end] = nameAt(query, 12);
    const question = query.subarray(12, end + 4);
    const isText = query.readUInt16BE(end) === TXT;
    const found = isText ? this.records.get(name.toLowerCase()) : undefined;
    const code = this.failure ?? (found ? 0 : NAME_ERROR);
    const answers = this.failure === undefined ? (found ?? []).map(recordOf) : [];
    const head = Buffer.alloc(12);
    query.copy(head, 0, 0, 2);
    head.writeUInt16BE(0x8180 | code, 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(answers.length, 6);
    return Buffer.concat([head, question, ...answers]);
  }
}

function nameAt(query: Buffer, from: number): [name: string, end: number] {
  const labels: string[] = [];
  let at = from;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += length + 1;
  }
  return [labels.join('.'), at + 1];
}

/** Of the name in the question; its text in parts of 255 bytes. */
function recordOf(text: string): Buffer {
  const parts = text.match(/.{1,255}/gs) ?? [];
  const data = Buffer.concat(
    parts.flatMap(part => [Buffer.from([part.length]), Buffer.from(part, 'latin1')]),
  );
  const head = Buffer.from([0xc0, 12, 0, TXT, 0, 1, 0, 0, 0, 0, 0, 0]);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}
