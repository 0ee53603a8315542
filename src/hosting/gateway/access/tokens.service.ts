import { Injectable, type Type } from '@nestjs/common';
import { type Actor, hashSecret } from '../../../platform/access/index.js';
import { Action, ExecTokens } from '../../../platform/actions/index.js';
import { Audit } from '../../../platform/audit/index.js';
import { Database, iso, newId } from '../../../platform/database/index.js';
import {
  ById,
  DeletedView,
  ListById,
  type Page,
  type PageInput,
  pageById,
  toView,
} from '../../../platform/dto/index.js';
import { NotFound } from '../../../platform/errors/index.js';
import { auditTarget, HOSTED, type HostedInput, hostedId } from '../hosts/hosted-kinds.js';
import { HostedTargets } from '../hosts/hosted-targets.js';
import { type HostedKind } from '../hosts/hosting-domain.js';
import {
  AccessTokenPage,
  AccessTokenView,
  CreateServerToken,
  CreateSiteToken,
  HostedExecTokenList,
  NewAccessTokenView,
  type TokenInput,
} from './access.dto.js';
import { AccessPolicies } from './access-policies.js';
import { newAccessToken } from './access-tokens.js';
import { AccessTokensStore, type TokenRow } from './access-tokens.store.js';

const WEEK_SECONDS = 7 * 86_400;

interface Shapes {
  readonly Id: Type<HostedInput>;
  readonly List: Type<HostedInput & PageInput>;
  readonly Create: Type<HostedInput & TokenInput>;
  readonly TokenId: Type<HostedInput & { id: string }>;
  /** Summaries of the two exec token actions. */
  readonly execTokens: { readonly list: string; readonly revoke: string };
}

/** Tokens with which programs open sites, or servers, and exec tokens with which these run actions. */
function tokensService(kind: HostedKind, { Id, List, Create, TokenId, execTokens: texts }: Shapes) {
  const { field, accessPath, read, manage, open } = HOSTED[kind];

  @Injectable()
  class TokensService {
    constructor(
      private readonly database: Database,
      private readonly targets: HostedTargets,
      private readonly tokens: AccessTokensStore,
      private readonly execTokens: ExecTokens,
      private readonly policies: AccessPolicies,
      private readonly audit: Audit,
    ) {}

    @Action(`${kind}_token_list`, `GET ${accessPath}/tokens`, {
      on: field,
      summary: `List the tokens with which programs open a ${kind}`,
      effect: 'read',
      permission: read,
      input: List,
      output: AccessTokenPage,
    })
    async list(actor: Actor, input: HostedInput & PageInput): Promise<Page<AccessTokenView>> {
      const target = await this.targets.require(actor, read, kind, hostedId(input));
      return pageById(this.tokens.valid(target), input, tokenView);
    }

    @Action(`${kind}_token_create`, `POST ${accessPath}/tokens`, {
      on: field,
      summary: `Make a token with which a program opens a ${kind}, for 30 days at most`,
      effect: 'expose',
      consequence: `Whoever has the token can open the ${kind} until it ends, without an account.`,
      permission: open,
      input: Create,
      output: NewAccessTokenView,
      commitsAnswer: true,
    })
    async create(actor: Actor, input: HostedInput & TokenInput): Promise<NewAccessTokenView> {
      const { name, expires_in: seconds = WEEK_SECONDS } = input;
      const target = await this.targets.require(actor, open, kind, hostedId(input));
      const token = newAccessToken();
      const row = { id: newId(), hash: hashSecret(token), name, created_by: actor.id, seconds };
      return this.database.transaction(async unit => {
        const added = await this.tokens.add(unit, row, target);
        const details = { token_id: row.id, name, expires_at: iso(added.expires_at) };
        await this.audit.record(unit, actor, `${kind}_token.create`, auditTarget(target), details);
        return unit.answers({ ...tokenView(added), token });
      });
    }

    @Action(`${kind}_token_revoke`, `DELETE ${accessPath}/tokens/:id`, {
      on: field,
      summary: `Revoke a token with which programs open a ${kind}`,
      effect: 'destructive',
      consequence: `Programs that use it can no longer open the ${kind}.`,
      permission: manage,
      input: TokenId,
      output: DeletedView,
      refuses: { 404: `No such ${kind} or token` },
    })
    async revoke(actor: Actor, input: HostedInput & { id: string }): Promise<DeletedView> {
      const details = { token_id: input.id };
      const target = await this.targets.require(actor, manage, kind, hostedId(input));
      await this.database.transaction(async unit => {
        if (!(await this.tokens.remove(unit, target, input.id))) throw new NotFound('No such token');
        await this.audit.record(unit, actor, `${kind}_token.revoke`, auditTarget(target), details);
        await this.policies.changed(unit, target.id);
      });
      return DeletedView.of(input.id);
    }

    @Action(`${kind}_exec_token_list`, `GET ${accessPath}/exec-tokens`, {
      on: field,
      summary: texts.list,
      effect: 'read',
      permission: read,
      input: Id,
      output: HostedExecTokenList,
    })
    async listExec(actor: Actor, input: HostedInput): Promise<HostedExecTokenList> {
      const target = await this.targets.require(actor, read, kind, hostedId(input));
      const rows = await this.execTokens.listFor(target);
      return {
        items: rows.map(({ id, actor: by, actions, created_at, expires_at }) => ({
          id,
          actions,
          actor_id: by.id,
          actor_name: by.name,
          created_at: iso(created_at),
          expires_at: iso(expires_at),
        })),
      };
    }

    @Action(`${kind}_exec_token_revoke`, `DELETE ${accessPath}/exec-tokens/:id`, {
      on: field,
      summary: texts.revoke,
      effect: 'destructive',
      consequence: 'Calls that are under way with it fail.',
      permission: manage,
      input: TokenId,
      output: DeletedView,
      refuses: { 404: `No such ${kind} or token` },
    })
    async revokeExec(actor: Actor, input: HostedInput & { id: string }): Promise<DeletedView> {
      const details = { token_id: input.id };
      const target = await this.targets.require(actor, manage, kind, hostedId(input));
      await this.database.transaction(async unit => {
        if (!(await this.execTokens.revoke(unit, target, input.id))) throw new NotFound('No such token');
        await this.audit.record(unit, actor, `${kind}_exec_token.revoke`, auditTarget(target), details);
      });
      return DeletedView.of(input.id);
    }
  }
  return TokensService;
}

function tokenView(row: TokenRow): AccessTokenView {
  return toView(AccessTokenView, row);
}

export const SiteTokensService = tokensService('site', {
  Id: ById({ site_id: 'The site' }),
  List: ListById({ site_id: 'The site' }),
  Create: CreateSiteToken,
  TokenId: ById({ site_id: 'The site', id: 'The token' }),
  execTokens: {
    list: 'List the tokens by which a site runs actions for those who look at it',
    revoke: 'Revoke a token by which a site runs actions; it gets another one while it offers any',
  },
});
export const ServerTokensService = tokensService('server', {
  Id: ById({ server_id: 'The server' }),
  List: ListById({ server_id: 'The server' }),
  Create: CreateServerToken,
  TokenId: ById({ server_id: 'The server', id: 'The token' }),
  execTokens: {
    list: 'List the tokens by which a server runs actions',
    revoke:
      'Revoke a token by which a server runs actions; its program gets another one when it is started again',
  },
});
