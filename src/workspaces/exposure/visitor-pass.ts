import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Seal, Vault } from '../../platform/vault/index.js';
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
  private readonly passes: Seal;

  constructor(
    private readonly origin: ShareOrigin,
    vault: Vault,
  ) {
    this.passes = vault.seal('share passes');
  }

  give(reply: FastifyReply, link: Protected, home: string): void {
    const until = Math.floor(Date.now() / 1000) + LIFE_SECONDS;
    const value = `${until}.${this.passes.sign(signed(link, until))}`;
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
    const [, until = '', signature = ''] = /=(\d{1,12})\.([\w-]+)$/.exec(cookie) ?? [];
    return Number(until) > Date.now() / 1000 && this.passes.verify(signed(link, Number(until)), signature);
  }
}

const signed = ({ id, password_hash }: Protected, until: number) => `${id} ${until} ${password_hash}`;
