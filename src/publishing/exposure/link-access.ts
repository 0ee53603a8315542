import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { passwordMatches } from '../../identity/accounts/index.js';
import { LoginProtection } from '../../identity/auth/index.js';
import { type Actor, hashSecret, randomSecret } from '../../platform/access/index.js';
import { iso, isoOrNull } from '../../platform/database/index.js';
import { type Seal, Vault } from '../../platform/vault/index.js';
import type { ExposedView } from './exposure.service.js';
import type { Asker, LinkRow, OpenLink } from './public-link.js';
import { ShareOrigin } from './share-origin.js';

/** The visitor has to enter the password. */
export class Locked extends Error {}

const PASS_SECONDS = 12 * 3600;
const COOKIE = 'share_pass';

export type Protected = Pick<LinkRow, 'id' | 'password_hash'>;

/**
 * Makes the secrets of links, and admits visitors. For the right password they get a cookie that is good for the one link,
 * until its password changes.
 */
@Injectable()
export class LinkAccess {
  private readonly tokens: Seal;
  private readonly passes: Seal;

  constructor(
    private readonly origin: ShareOrigin,
    private readonly protection: LoginProtection,
    vault: Vault,
  ) {
    this.tokens = vault.seal('share links');
    this.passes = vault.seal('share passes');
  }

  /** The secret of a new link, as it is stored. 409 where there is no host for links. */
  newSecret(id: string): { token_hash: string; sealed_token: string } {
    this.origin.requireUsable();
    const token = randomSecret();
    return {
      token_hash: hashSecret(token),
      sealed_token: this.tokens.close(token, id).toString('base64url'),
    };
  }

  /** Null for callers that may not go through it themselves, and where there is no host for links. */
  urlFor<Row extends LinkRow>(actor: Actor, link: OpenLink<Row>, row: Row & Asker): string | null {
    if (!link.isShownTo(actor, row)) return null;
    const token = this.tokens.open(Buffer.from(row.sealed_token, 'base64url'), row.id);
    return token ? this.origin.urlOf(token.toString(), link.visited.prefix) : null;
  }

  exposedView<Row extends LinkRow>(
    actor: Actor,
    link: OpenLink<Row>,
    row: Row & Asker,
    { allow, revoke_path }: Pick<ExposedView, 'allow' | 'revoke_path'>,
  ): ExposedView {
    const { id, workspace_id, workspace_name, path, created_by } = row;
    return {
      id,
      kind: link.name,
      name: path,
      workspace_id,
      workspace_name,
      url: this.urlFor(actor, link, row),
      protection: row.password_hash === null ? 'link' : 'password',
      allow,
      expires_at: isoOrNull(row.expires_at),
      created_by,
      created_at: iso(row.created_at),
      revoke_path,
    };
  }

  /** Throws {@link Locked} where the password is yet to be entered. */
  requirePass({ headers }: FastifyRequest, link: Protected): void {
    if (link.password_hash === null) return;
    const cookies = (headers.cookie ?? '').split(';').map(cookie => cookie.trim());
    if (!cookies.some(cookie => cookie.startsWith(`${COOKIE}=`) && this.isGood(cookie, link)))
      throw new Locked();
  }

  /** Lets the visitor in for the right password; else false. Failures count for the link and the address, in all processes. */
  async unlock(
    reply: FastifyReply,
    link: Protected,
    { home, password, address }: Record<'home' | 'password' | 'address', string>,
  ): Promise<boolean> {
    const isRight = await this.isPassword(link, password, address);
    if (isRight) this.givePass(reply, link, home);
    return isRight;
  }

  private async isPassword({ id, password_hash }: Protected, password: string, address: string) {
    if (password_hash === null) return true;
    const passed = await this.protection.attempt(`share ${id}`, address, async () =>
      (await passwordMatches(password_hash, password)) ? true : undefined,
    );
    return passed === true;
  }

  private givePass(reply: FastifyReply, link: Protected, home: string): void {
    const until = Math.floor(Date.now() / 1000) + PASS_SECONDS;
    const value = `${until}.${this.passes.sign(signed(link, until))}`;
    // Lax and not strict, as links are opened from mails.
    const attributes = `Path=${home}; Max-Age=${PASS_SECONDS}; HttpOnly; SameSite=Lax`;
    void reply.header(
      'set-cookie',
      `${COOKIE}=${value}; ${attributes}${this.origin.isSecure ? '; Secure' : ''}`,
    );
  }

  private isGood(cookie: string, link: Protected): boolean {
    const [, until = '', signature = ''] = /=(\d{1,12})\.([\w-]+)$/.exec(cookie) ?? [];
    return Number(until) > Date.now() / 1000 && this.passes.verify(signed(link, Number(until)), signature);
  }
}

const signed = ({ id, password_hash }: Protected, until: number) => `${id} ${until} ${password_hash}`;
