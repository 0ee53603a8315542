import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Actor } from '../../platform/access/index.js';
import { Config } from '../../platform/config/index.js';
import { Forbidden } from '../../platform/errors/index.js';
import { type Seal, Vault } from '../../platform/vault/index.js';
import type { Login } from '../auth/index.js';
import { SignInsStore } from './sign-ins.store.js';

const LIFE_SECONDS = 8 * 3600;
const OTHER_ORIGINS = new Set(['same-site', 'cross-site']);

/** A browser at a page of ours, and who is signed in there. */
export interface PageVisit {
  /** Of this browser alone; another one after each sign-in. */
  readonly id: string;
  readonly accountId?: string;
  /** The ordinary session that the sign-in stands on. */
  readonly signIn?: string;
}

/** What the cookie says. */
interface Kept extends PageVisit {
  readonly until: number;
}

/**
 * Sign-ins at pages that stand alone, besides those of the authorization server: a signed cookie that names an ordinary
 * session of the person, and ends with it. Forms have a token that only this browser was shown.
 */
@Injectable()
export class PageVisits {
  private readonly cookies: Seal;
  private readonly forms: Seal;

  constructor(
    private readonly signIns: SignInsStore,
    private readonly config: Config,
    vault: Vault,
  ) {
    this.cookies = vault.seal('page cookie');
    this.forms = vault.seal('page form');
  }

  /** The visit of this request; for a browser that is new here it begins one. */
  async of(request: FastifyRequest, reply: FastifyReply): Promise<PageVisit> {
    const kept = this.read(request);
    if (!kept) return this.begin(reply, {});
    const { id, accountId, signIn } = kept;
    const isSignedIn = accountId !== undefined && (await this.signIns.isOpen(accountId, signIn));
    return isSignedIn ? { id, accountId, signIn } : { id };
  }

  /** Who is signed in; undefined where the account is gone. */
  async personOf({ accountId, signIn }: PageVisit): Promise<Actor | undefined> {
    return accountId && signIn ? this.signIns.personOf(accountId, signIn) : undefined;
  }

  /** Throws what signing in throws: Unauthorized, TooManyRequests. */
  async signIn(request: FastifyRequest, reply: FastifyReply, login: Login): Promise<void> {
    const from = { userAgent: request.headers['user-agent'], address: request.ip };
    const { accountId, acr } = await this.signIns.open(login, from);
    this.begin(reply, { accountId, signIn: acr });
  }

  async signOut({ signIn }: PageVisit, reply: FastifyReply): Promise<void> {
    if (signIn) await this.signIns.end(signIn);
    this.begin(reply, {});
  }

  /** The CSRF token of forms at `address`, for this browser. */
  csrf({ id }: PageVisit, address: string): string {
    return this.forms.sign(`${id} ${address}`);
  }

  /** Refuses a form that is not from the page that this browser was shown. */
  requireOwnForm(request: FastifyRequest, visit: PageVisit, address: string, sent: string | null): void {
    // Sites of users are neighbours: without HTTPS one can set our cookie, and then knows what belongs into the form.
    const isOthers = OTHER_ORIGINS.has(String(request.headers['sec-fetch-site']));
    if (isOthers || !this.forms.verify(`${visit.id} ${address}`, sent ?? ''))
      throw new Forbidden('This form does not come from the page that you were shown');
  }

  private begin(reply: FastifyReply, person: Omit<PageVisit, 'id'>): PageVisit {
    const visit = { id: randomBytes(16).toString('base64url'), ...person };
    const kept: Kept = { ...visit, until: Math.floor(Date.now() / 1000) + LIFE_SECONDS };
    const value = Buffer.from(JSON.stringify(kept)).toString('base64url');
    // Lax and not strict, as these pages are opened from elsewhere.
    const attributes = `Path=/; Max-Age=${LIFE_SECONDS}; HttpOnly; SameSite=Lax${this.isSecure ? '; Secure' : ''}`;
    void reply.header('set-cookie', `${this.cookie}=${value}.${this.cookies.sign(value)}; ${attributes}`);
    return visit;
  }

  private read({ headers }: FastifyRequest): Kept | undefined {
    for (const pair of (headers.cookie ?? '').split(';')) {
      const [, value = '', signature = ''] =
        new RegExp(`^\\s*${this.cookie}=([\\w-]+)\\.([\\w-]+)\\s*$`).exec(pair) ?? [];
      if (!signature || !this.cookies.verify(value, signature)) continue;
      const kept = JSON.parse(Buffer.from(value, 'base64url').toString()) as Kept;
      if (kept.until > Date.now() / 1000) return kept;
    }
    return undefined;
  }

  private get isSecure(): boolean {
    return this.config.baseUrl.startsWith('https:');
  }

  /** By the prefix browsers take it from this host alone (RFC 6265bis). */
  private get cookie(): string {
    return this.isSecure ? '__Host-page_visit' : 'page_visit';
  }
}
