import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import type { FastifyReply } from 'fastify';
import { EventStream } from '../../../platform/http/sse.js';

/** The answer to one POST: a JSON body, or a stream as soon as something is to be said before it (streamable HTTP). */
export class AnswerLine {
  private stream: EventStream | undefined;
  private said: Promise<void> = Promise.resolve();

  constructor(private readonly reply: FastifyReply) {}

  /** Says something before the answer. */
  say(message: JSONRPCMessage): void {
    this.stream ??= EventStream.start(this.reply);
    const { stream } = this;
    this.said = this.said.then(() => stream.send([{ event: 'message', data: message }]));
  }

  /** Gives the answer, and ends. */
  async end(answer: JSONRPCMessage): Promise<void> {
    if (!this.stream) {
      await this.reply.status(200).send(answer);
      return;
    }
    this.say(answer);
    await this.said;
    this.stream.end();
  }

  /** Ends without an answer: there is nobody to read it, or it was taken back. */
  async drop(): Promise<void> {
    if (this.stream) this.stream.end();
    else if (!this.reply.sent) await this.reply.status(202).send();
  }
}
