import { hash } from 'node:crypto';
import type { Socket } from 'node:net';
import { Injectable } from '@nestjs/common';
import { type Seal, Vault } from '../../../platform/vault/index.js';

/** Ephemeral key exchange: recorded traffic cannot be decrypted later. */
export const LINK_TLS = {
  ciphers: 'ECDHE-PSK-CHACHA20-POLY1305:ECDHE-PSK-AES256-CBC-SHA384',
  minVersion: 'TLSv1.2',
  maxVersion: 'TLSv1.2',
} as const;

const VALID_MS = 60_000;
const MAX_LINE = 4096;

interface Ticket {
  readonly instance: string;
  readonly until: number;
}

/** Credentials between processes of one installation. */
@Injectable()
export class ServerTickets {
  private readonly seal: Seal;

  constructor(vault: Vault) {
    this.seal = vault.seal('server links');
  }

  /** Pre-shared keys for TLS (RFC 4279), which authenticate both sides without certificates. */
  get keys(): { identity: string; psk: Buffer }[] {
    return this.seal.keys().map(psk => ({ identity: hash('sha256', psk, 'hex').slice(0, 32), psk }));
  }

  write(instance: string): string {
    const ticket: Ticket = { instance, until: Date.now() + VALID_MS };
    return this.seal.close(JSON.stringify(ticket), 'ticket').toString('base64url');
  }

  /** Undefined if invalid or expired. */
  read(text: string): Ticket | undefined {
    const opened = this.seal.open(Buffer.from(text, 'base64url'), 'ticket');
    const ticket: Ticket | undefined = opened && JSON.parse(opened.toString());
    return ticket && ticket.until > Date.now() ? ticket : undefined;
  }
}

/** Reads the first line and leaves the rest unread. Empty if the socket ends before. */
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
