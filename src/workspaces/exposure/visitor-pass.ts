import { timingSafeEqual } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { LinkSeal } from './link-seal.js';
import { ShareOrigin } from './share-origin.js';

const LIFE_SECONDS = 12 * 3600;
const COOKIE = 'share_pass';

/** What a password protects. */
interface Protected {
  readonly id: string;
  readonly password_hash: string | null;
}

/** What a visitor gets for the right password: a cookie that is good for the one link, until its password changes. */
@Injectable()
export class VisitorPass {
  constructor(
    private readonly seal: LinkSeal,
    private readonly origin: ShareOrigin,
  ) {}

  give(reply: FastifyReply, link: Protected, home: string): void {
    const until = Math.floor(Date.now() / 1000) + LIFE_SECONDS;
    const value = `${until}.${this.signature(link, until).toString('base64url')}`;
    // Lax and not strict, as links are opened from mails.
    const attributes = `Path=${home}; Max-Age=${LIFE_SECONDS}; HttpOnly; SameSite=Lax`;
    void reply.header(
      'set-cookie',
      `${COOKIE}=${value}; ${attributes}${this.origin.isSecure ? '; Secure' : ''}`,
    );
  }

  isShown({ headers }: FastifyRequest, link: Protected): boolean {
    const cookies = (headers.cookie ?? '').split(';').map(cookie => cookie.trim());
    return cookies.some(cookie => cookie.startsWith(`${COOKIE}=`) && this.isGood(cookie, link));
  }

  private isGood(cookie: string, link: Protected): boolean {
    const [, until = '', signature = ''] = /=(\d{1,12})\.([\w-]{43})$/.exec(cookie) ?? [];
    if (Number(until) <= Date.now() / 1000) return false;
    const given = Buffer.from(signature, 'base64url');
    const wanted = this.signature(link, Number(until));
    return given.length === wanted.length && timingSafeEqual(given, wanted);
  }

  private signature({ id, password_hash }: Protected, until: number): Buffer {
    return this.seal.sign(`${id} ${until} ${password_hash}`);
  }
}
