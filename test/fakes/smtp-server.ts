import { EventEmitter, once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SMTPServer, type SMTPServerDataStream } from 'smtp-server';

export interface ReceivedMail {
  /** The envelope, which decides where mail goes. */
  from: string;
  to: string[];
  headers: Map<string, string>;
  text: string;
  html: string;
  /** As it came over the wire. */
  raw: string;
}

/** A mail server on this machine that speaks SMTP and keeps what it is sent. */
export class FakeSmtpServer {
  readonly mails: ReceivedMail[] = [];
  /** Replies for the messages to come, in place of taking them: `451 try later`. */
  readonly refusals: string[] = [];
  /** As {@link refusals}, for recipients. */
  readonly refusedRecipients: string[] = [];
  private readonly changes = new EventEmitter().setMaxListeners(0);
  private readonly server: SMTPServer;

  private constructor(private readonly login?: { user: string; password: string }) {
    this.server = new SMTPServer({
      disabledCommands: ['STARTTLS'],
      authOptional: login === undefined,
      allowInsecureAuth: true,
      onAuth: ({ username, password }, _session, done) =>
        username === login?.user && password === login?.password
          ? done(null, { user: username })
          : done(new Error('Invalid username or password')),
      onRcptTo: (_address, _session, done) => done(asRefusal(this.refusedRecipients.shift())),
      onData: (stream, session, done) => {
        const { mailFrom, rcptTo } = session.envelope;
        const from = mailFrom ? mailFrom.address : '';
        const to = rcptTo.map(({ address }) => address);
        void this.take(stream, from, to).then(refusal => done(refusal));
      },
    });
  }

  static async start(login?: { user: string; password: string }): Promise<FakeSmtpServer> {
    const fake = new FakeSmtpServer(login);
    await new Promise<void>(resolve => fake.server.listen(0, '127.0.0.1', resolve));
    return fake;
  }

  /** For SMTP_URL. */
  get url(): string {
    const { port } = this.server.server.address() as AddressInfo;
    const user = this.login ? `${this.login.user}:${encodeURIComponent(this.login.password)}@` : '';
    return `smtp://${user}127.0.0.1:${port}`;
  }

  /** The mails to one address that hold a text, once there are as many. */
  async mailsTo(address: string, count = 1, holding = ''): Promise<ReceivedMail[]> {
    for (;;) {
      const mails = this.mails.filter(({ to, text }) => to.includes(address) && text.includes(holding));
      if (mails.length >= count) return mails;
      await once(this.changes, 'mail');
    }
  }

  stop(): Promise<void> {
    return new Promise(resolve => this.server.close(() => resolve()));
  }

  private async take(stream: SMTPServerDataStream, from: string, to: string[]): Promise<Error | null> {
    const chunks: Buffer[] = [];
    for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk);
    const refusal = asRefusal(this.refusals.shift());
    if (refusal) return refusal;
    this.mails.push({ from, to, ...parseMail(Buffer.concat(chunks).toString()) });
    this.changes.emit('mail');
    return null;
  }
}

function asRefusal(reply: string | undefined): Error | null {
  if (reply === undefined) return null;
  return Object.assign(new Error(reply.slice(4)), { responseCode: Number(reply.slice(0, 3)) });
}

/** As much of MIME (RFC 2045, 2046) as our own mails use. */
function parseMail(raw: string): Omit<ReceivedMail, 'from' | 'to'> {
  const { headers, body } = parsePart(raw);
  const boundary = /boundary="?([^";]+)"?/.exec(headers.get('content-type') ?? '')?.[1];
  const parts = boundary ? body.split(`--${boundary}`).slice(1, -1).map(parsePart) : [{ headers, body }];
  const ofType = (type: string) => parts.find(part => part.headers.get('content-type')?.startsWith(type));
  return { headers, raw, text: decode(ofType('text/plain')), html: decode(ofType('text/html')) };
}

interface Part {
  headers: Map<string, string>;
  body: string;
}

function parsePart(text: string): Part {
  const trimmed = text.replace(/^\r\n/, '');
  const end = trimmed.indexOf('\r\n\r\n');
  const lines = trimmed
    .slice(0, end)
    .replace(/\r\n[ \t]+/g, ' ')
    .split('\r\n');
  const headers = lines.map(line => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
  });
  return { headers: new Map(headers), body: trimmed.slice(end + 4) };
}

function decode(part: Part | undefined): string {
  if (!part) return '';
  const encoding = part.headers.get('content-transfer-encoding');
  if (encoding === 'base64') return Buffer.from(part.body, 'base64').toString();
  if (encoding !== 'quoted-printable') return part.body.replaceAll('\r\n', '\n');
  const bytes = part.body
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString().replaceAll('\r\n', '\n');
}
