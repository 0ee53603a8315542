import { Injectable, OnApplicationShutdown } from '@nestjs/common';
import type { Transporter } from 'nodemailer';
import { Config } from '../config/index.js';
import type { Mail } from './mail-outbox.js';

/** The server will never take this mail (RFC 5321 section 4.2.1: a 5yz reply to recipient or content). */
export class MailRefused extends Error {}

const CONNECT_MS = 15_000;
const SILENCE_MS = 30_000;

/** On one line each: folded by nodemailer, a header that is signed (RFC 8058 section 4) does not match any more. */
const asWritten = (headers: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, { prepared: true, value }]));

/** The SMTP server that the operator named. */
@Injectable()
export class Smtp implements OnApplicationShutdown {
  private transport: Transporter | undefined;
  private readonly from: string;

  constructor(private readonly config: Config) {
    const { mailFrom, baseUrl } = config;
    this.from = mailFrom ?? `Atelier <no-reply@${new URL(baseUrl).hostname}>`;
  }

  /** Resolves once the server has taken the mail over. `id` makes the Message-ID, so that a second copy is known as one. */
  async deliver(id: string, { to, subject, text, html, headers = {} }: Mail): Promise<void> {
    // Mail may be left from when there was a server.
    if (!this.config.smtpUrl) throw new Error('SMTP_URL is not set');
    const domain = this.from.match(/@([\w.-]+)/)?.[1] ?? 'localhost';
    try {
      const transport = await this.open();
      await transport.sendMail({
        from: this.from,
        // As an object it is not parsed: one address, whatever is in it.
        to: { name: '', address: to },
        subject,
        text,
        html,
        messageId: `<${id}@${domain}>`,
        headers: { 'Auto-Submitted': 'auto-generated', ...asWritten(headers) },
        disableFileAccess: true,
        disableUrlAccess: true,
      });
    } catch (error) {
      const { code, responseCode = 0, message } = error as Error & { code?: string; responseCode?: number };
      if ((code === 'EENVELOPE' || code === 'EMESSAGE') && responseCode >= 500)
        throw new MailRefused(message);
      throw error;
    }
  }

  onApplicationShutdown(): void {
    this.transport?.close();
  }

  /** Loaded with the first mail. */
  private async open(): Promise<Transporter> {
    const { createTransport } = await import('nodemailer');
    this.transport ??= createTransport({
      url: this.config.smtpUrl,
      connectionTimeout: CONNECT_MS,
      greetingTimeout: CONNECT_MS,
      socketTimeout: SILENCE_MS,
    });
    return this.transport;
  }
}
