import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { passwordMatches } from '../../identity/accounts/index.js';
import { LoginProtection } from '../../identity/auth/index.js';
import {
  type Feature,
  hashSecret,
  randomSecret,
  roleAllows,
  type WorkspacePermission,
  type WorkspaceRole,
} from '../../platform/access/index.js';
import { Gone, NotFound } from '../../platform/errors/index.js';
import { type Seal, Vault } from '../../platform/vault/index.js';
import { type LinkKind, ShareOrigin } from './share-origin.js';

/** What an exposed URL lets its visitors do, and what the person who exposed it must still be allowed to do. */
export const ALLOWANCES = {
  view: { needs: 'file.read', saves: false },
  download: { needs: 'file.read', saves: true },
  upload: { needs: 'file.write', saves: false },
} as const satisfies Record<string, { needs: WorkspacePermission; saves: boolean }>;
export type Allowance = keyof typeof ALLOWANCES;

/** What decides whether a way in still stands: its workspace, and the role there of the person who gave it. */
export interface GiverStanding {
  features_off: Feature[];
  giver_role: WorkspaceRole | null;
}

/** Whether the giver could still do what they let others do, and sharing is not turned off. */
export function mayStill(
  { features_off, giver_role }: GiverStanding,
  permission: WorkspacePermission,
): boolean {
  return !features_off.includes('sharing') && giver_role !== null && roleAllows(giver_role, permission);
}

/** A URL that opens something to its holder, with a password or without. */
export interface ExposedLink extends GiverStanding {
  readonly id: string;
  readonly allow: Allowance;
  readonly sealed_token: string;
  readonly password_hash: string | null;
  readonly expires_at: string | null;
}

export type LinkState = 'active' | 'expired' | 'suspended';

export function stateOf(link: ExposedLink): LinkState {
  if (link.expires_at && new Date(link.expires_at) <= new Date()) return 'expired';
  return mayStill(link, ALLOWANCES[link.allow].needs) ? 'active' : 'suspended';
}

/** The visitor has to enter the password. */
export class Locked extends Error {}

const PASS_SECONDS = 12 * 3600;
const COOKIE = 'share_pass';

export type Protected = Pick<ExposedLink, 'id' | 'password_hash'>;

/**
 * Admits visitors of links. For the right password they get a cookie that is good for the one link, until its password
 * changes.
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

  /** Null where there is no host for links. */
  urlOf({ id, sealed_token }: Pick<ExposedLink, 'id' | 'sealed_token'>, kind: LinkKind = 's'): string | null {
    const token = this.tokens.open(Buffer.from(sealed_token, 'base64url'), id);
    return token ? this.origin.urlOf(token.toString(), kind) : null;
  }

  /** 404 for none and for one that is suspended, 410 for one that has expired. */
  requireActive<L extends ExposedLink>(link: L | undefined): L {
    if (!link || !mayStill(link, ALLOWANCES[link.allow].needs)) throw new NotFound('No such link');
    if (stateOf(link) === 'expired') throw new Gone('This link has expired');
    return link;
  }

  /** Throws {@link Locked} where the password is yet to be entered. */
  requirePass({ headers }: FastifyRequest, link: Protected): void {
    if (link.password_hash === null) return;
    const cookies = (headers.cookie ?? '').split(';').map(cookie => cookie.trim());
    if (!cookies.some(cookie => cookie.startsWith(`${COOKIE}=`) && this.isGood(cookie, link)))
      throw new Locked();
  }

  /** Whether the password is right. Failures count for the link and the address, in all processes. */
  async isPassword({ id, password_hash }: Protected, password: string, address: string): Promise<boolean> {
    if (password_hash === null) return true;
    const passed = await this.protection.attempt(`share ${id}`, address, async () =>
      (await passwordMatches(password_hash, password)) ? true : undefined,
    );
    return passed === true;
  }

  givePass(reply: FastifyReply, link: Protected, home: string): void {
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

/** Whether a request counts as a visit: players and resumed downloads fetch a file in many parts, which count once. */
export const isVisit = ({ method, headers: { range } }: FastifyRequest): boolean =>
  method === 'GET' && (range === undefined || /^bytes=0-/.test(range));
