import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import type { HttpExchange, MessageStream } from './ports.js';

/** The answer to one POST: a JSON body, or a stream as soon as something is to be said before it (streamable HTTP). */
export class AnswerLine {
  private stream: MessageStream | undefined;
  private said: Promise<void> = Promise.resolve();

  /** `open` turns the answer into a stream; throws where too many are open. */
  constructor(
    private readonly reply: HttpExchange['reply'],
    private readonly open: () => MessageStream,
  ) {}

  /** Says something before the answer. */
  say(message: JSONRPCMessage): void {
    this.stream ??= this.open();
    this.said = this.stream.send(message);
  }

  /** Gives the answer, and ends. */
  async end(answer: JSONRPCMessage): Promise<void> {
    if (!this.stream) {
      await this.reply.status(200).send(answer);
      return;
    }
    // What was said before may wait for a client that reads slowly.
    await this.said;
    this.say(answer);
    await this.said;
    this.stream.end();
  }

  /** Ends without an answer: the client has gone, or took its request back. */
  async drop(): Promise<void> {
    if (this.stream) this.stream.end();
    else if (!this.reply.sent) await this.reply.status(202).send();
  }
}
