import { CanActivate, createParamDecorator, ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { sql } from 'kysely';
import { type Actor, hashSecret, randomSecret } from '../access/index.js';
import { Database, newId, type UnitOfWork } from '../database/index.js';
import { BadRequest, Unauthorized } from '../errors/index.js';
import { Chore } from '../jobs/index.js';
import { ActionAllowlist, ActionCaller, type CallingProgram } from './action-caller.js';

export const EXEC_TOKEN_PREFIX = 'atx_';
const TOKEN = /^atx_[\w-]{43}$/;
const HOUR_MS = 3_600_000;
/** How long a token that is over is kept, to tell by hand what it was. */
const KEPT_DAYS = 7;

/** What a token is bound to. */
export interface ExecGrant {
  /** On whose authority it acts; what they may is looked at again at every call. */
  readonly actor: Actor;
  readonly workspaceId: string;
  /** What holds it, and with whose end it ends. */
  readonly caller: CallingProgram;
  /** Names and globs of actions; what is destructive or exposes has to be named in full. */
  readonly actions: readonly string[];
  readonly expiresAt: Date;
}

/** A token as it may be shown: not itself. */
export interface ExecTokenRow {
  id: string;
  actor: Actor;
  actions: string[];
  created_at: string;
  expires_at: string;
}

const MAX_LISTED = 200;

interface GrantRow {
  id: string;
  actor: Actor;
  workspace_id: string;
  caller_kind: CallingProgram['kind'];
  caller_id: string;
  actions: string[];
  expires_at: string;
}

/** Short-lived tokens with which sandboxes, sites, servers and automations run actions. */
@Injectable()
export class ExecTokens {
  constructor(private readonly database: Database) {}

  /** A new token; it is given out this once, and stored as a hash. It works once the transaction is committed. */
  async mint(unit: UnitOfWork, grant: ExecGrant): Promise<string> {
    const token = EXEC_TOKEN_PREFIX + randomSecret();
    const { actor, workspaceId, caller, actions } = grant;
    await sql`
      insert into exec_token (id, hash, actor, workspace_id, caller_kind, caller_id, actions, created_at, expires_at)
      values (${newId()}, ${hashSecret(token)}, ${JSON.stringify(actor)}::jsonb, ${workspaceId}, ${caller.kind}, ${caller.id},
        ${[...actions]}::text[], now(), ${endOf(grant).toISOString()})`.execute(unit.tables());
    return token;
  }

  /** Ends every token of what has ended. */
  async revokeFor(unit: UnitOfWork, { kind, id }: CallingProgram): Promise<void> {
    await sql`
      update exec_token set revoked_at = now()
      where caller_kind = ${kind} and caller_id = ${id} and revoked_at is null`.execute(unit.tables());
  }

  /** Those of a program that are not over, newest first. */
  async listFor({ kind, id }: CallingProgram): Promise<ExecTokenRow[]> {
    const { rows } = await sql<ExecTokenRow>`
      select id, actor, actions, created_at, expires_at from exec_token
      where caller_kind = ${kind} and caller_id = ${id} and revoked_at is null and expires_at > now()
      order by id desc limit ${MAX_LISTED}`.execute(this.database.tables());
    return rows;
  }

  /** Ends one token of a program; false where it has no such token. */
  async revoke(unit: UnitOfWork, { kind, id }: CallingProgram, tokenId: string): Promise<boolean> {
    const { rows } = await sql`
      update exec_token set revoked_at = now()
      where id = ${tokenId} and caller_kind = ${kind} and caller_id = ${id} and revoked_at is null
      returning id`.execute(unit.tables());
    return rows.length > 0;
  }

  /** Ends every token that came from a credential, which ends itself. */
  async revokeFrom(unit: UnitOfWork, credentialId: string): Promise<void> {
    await sql`
      update exec_token set revoked_at = now()
      where actor -> 'credential' ->> 'id' = ${credentialId} and revoked_at is null`.execute(unit.tables());
  }

  /** Who calls with the token; undefined for one that is unknown, over or revoked. */
  async callerOf(token: string): Promise<ActionCaller | undefined> {
    if (!TOKEN.test(token)) return undefined;
    const { rows } = await sql<GrantRow>`
      select id, actor, workspace_id, caller_kind, caller_id, actions, expires_at from exec_token
      where hash = ${hashSecret(token)} and revoked_at is null and expires_at > now()`.execute(
      this.database.tables(),
    );
    return rows[0] && callerOf(rows[0]);
  }

  @Chore('exec_tokens', { everyMs: HOUR_MS })
  async deleteOld(): Promise<void> {
    await sql`delete from exec_token where expires_at < now() - make_interval(days => ${KEPT_DAYS})`.execute(
      this.database.tables(),
    );
  }
}

function callerOf({ id, actor, workspace_id, caller_kind, caller_id, actions, expires_at }: GrantRow) {
  const credential = { ...actor.credential, expires_at: new Date(expires_at).toISOString() };
  return ActionCaller.program({ kind: caller_kind, id: caller_id }, 'exec', {
    actor: { ...actor, credential },
    workspaceId: workspace_id,
    allowlist: new ActionAllowlist(actions),
    tokenId: id,
  });
}

/** A token ends with the key it comes from, if not before. (A session is renewed, so what it started outlives it.) */
function endOf({ actor: { credential }, expiresAt }: ExecGrant): Date {
  const ofKey = credential.type === 'api_key' && credential.expires_at;
  return ofKey && new Date(ofKey) < expiresAt ? new Date(ofKey) : expiresAt;
}

type ExecRequest = FastifyRequest & { user: Actor; execCaller: ActionCaller };

/** Lets in who holds an exec token, in `Authorization: Bearer atx_…`. */
@Injectable()
export class ExecTokenGuard implements CanActivate {
  constructor(private readonly tokens: ExecTokens) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<ExecRequest>();
    const { headers } = request;
    if (headers['x-api-key'] !== undefined && headers.authorization !== undefined)
      throw new BadRequest('Send X-API-Key or Authorization, not both');
    const [, token] = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '') ?? [];
    if (!token?.startsWith(EXEC_TOKEN_PREFIX))
      throw new Unauthorized(
        `This takes an exec token (Bearer ${EXEC_TOKEN_PREFIX}…), which only sandboxes of runs have; use /api/actions with a key or session`,
      );
    const caller = await this.tokens.callerOf(token);
    if (!caller)
      throw new Unauthorized(
        'This exec token is not valid: unknown, expired, or what it was given to has ended',
      );
    request.user = caller.actor;
    request.execCaller = caller;
    return true;
  }
}

/** Who calls with an exec token; undefined on routes that take none. */
export const execCallerOf = (request: FastifyRequest): ActionCaller | undefined =>
  (request as Partial<ExecRequest> & FastifyRequest).execCaller;

/** Who calls, on a route that takes exec tokens. */
export const ExecCaller = createParamDecorator((_: unknown, context: ExecutionContext): ActionCaller => {
  return context.switchToHttp().getRequest<ExecRequest>().execCaller;
});
