import type { Socket } from 'node:net';
import { Injectable } from '@nestjs/common';
import { type Seal, Vault } from '../../../platform/vault/index.js';

const VALID_MS = 60_000;
const MAX_LINE = 4096;

interface Ticket {
  readonly instance: string;
  readonly until: number;
}

/** With which processes of one installation reach servers of one another. */
@Injectable()
export class ServerTickets {
  private readonly seal: Seal;

  constructor(vault: Vault) {
    this.seal = vault.seal('server links');
  }

  write(instance: string): string {
    const ticket: Ticket = { instance, until: Date.now() + VALID_MS };
    return this.seal.close(JSON.stringify(ticket), 'ticket').toString('base64url');
  }

  /** Undefined for what is none, or too old. */
  read(text: string): Ticket | undefined {
    const opened = this.seal.open(Buffer.from(text, 'base64url'), 'ticket');
    const ticket: Ticket | undefined = opened && JSON.parse(opened.toString());
    return ticket && ticket.until > Date.now() ? ticket : undefined;
  }
}

/** The first line, without its end; what follows stays unread. Empty where none comes. */
export function readLine(socket: Socket): Promise<string> {
  return new Promise(resolve => {
    let line = '';
    const done = (text: string) => {
      socket.off('readable', read).off('end', ended).off('close', ended);
      resolve(text);
    };
    const ended = () => done('');
    const read = () => {
      for (;;) {
        const bytes: Buffer | null = socket.read();
        if (!bytes) return;
        const at = bytes.indexOf(10);
        line += bytes.toString('latin1', 0, at < 0 ? bytes.length : at);
        if (line.length > MAX_LINE) return done('');
        if (at < 0) continue;
        if (at + 1 < bytes.length) socket.unshift(bytes.subarray(at + 1));
        return done(line);
      }
    };
    socket.on('readable', read).once('end', ended).once('close', ended);
  });
}
