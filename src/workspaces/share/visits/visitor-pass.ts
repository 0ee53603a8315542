import { timingSafeEqual } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { LinkSeal } from '../links/link-seal.js';
import type { LinkRow } from '../links/share-links.store.js';
import { ShareOrigin } from './share-origin.js';

const LIFE_SECONDS = 12 * 3600;
const COOKIE = 'share_pass';

/** What a visitor gets for the right password: a cookie that is good for the one link, until its password changes. */
@Injectable()
export class VisitorPass {
  constructor(
    private readonly seal: LinkSeal,
    private readonly origin: ShareOrigin,
  ) {}

  give(reply: FastifyReply, link: LinkRow, home: string): void {
    const until = Math.floor(Date.now() / 1000) + LIFE_SECONDS;
    const value = `${until}.${this.signature(link, until).toString('base64url')}`;
    // Lax and not strict, as links are opened from mails.
    const attributes = `Path=${home}; Max-Age=${LIFE_SECONDS}; HttpOnly; SameSite=Lax`;
    void reply.header(
      'set-cookie',
      `${COOKIE}=${value}; ${attributes}${this.origin.isSecure ? '; Secure' : ''}`,
    );
  }

  isShown({ headers }: FastifyRequest, link: LinkRow): boolean {
    const cookies = (headers.cookie ?? '').split(';').map(cookie => cookie.trim());
    return cookies.some(cookie => cookie.startsWith(`${COOKIE}=`) && this.isGood(cookie, link));
  }

  private isGood(cookie: string, link: LinkRow): boolean {
    const [, until = '', signature = ''] = /=(\d{1,12})\.([\w-]{43})$/.exec(cookie) ?? [];
    if (Number(until) <= Date.now() / 1000) return false;
    const given = Buffer.from(signature, 'base64url');
    const wanted = this.signature(link, Number(until));
    return given.length === wanted.length && timingSafeEqual(given, wanted);
  }

  private signature({ id, password_hash }: LinkRow, until: number): Buffer {
    return this.seal.sign(`${id} ${until} ${password_hash}`);
  }
}
