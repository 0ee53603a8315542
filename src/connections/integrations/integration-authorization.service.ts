import { Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { Audit } from '../../platform/audit/index.js';
import { beforeSideEffect, Database } from '../../platform/database/index.js';
import { ById } from '../../platform/dto/index.js';
import { Conflict, Invalid } from '../../platform/errors/index.js';
import { AuthorizeIntegration, IntegrationTestView, StartedAuthorizationView } from './integrations.dto.js';
import { ConnectionStarts } from './oauth/connection-starts.js';
import { ProviderCatalog } from './oauth/provider-catalog.js';
import { ConnectionsStore } from './records/connections.store.js';

/** Authorizes connections again, and checks their credentials. */
@Injectable()
export class IntegrationAuthorizationService {
  constructor(
    private readonly database: Database,
    private readonly connections: ConnectionsStore,
    private readonly catalog: ProviderCatalog,
    private readonly starts: ConnectionStarts,
    private readonly audit: Audit,
  ) {}

  @Action('integration_authorize', 'POST /api/integrations/:id/authorize', {
    on: { id: 'connection' },
    summary: 'Have a person authorize a connection again, also for other scopes; its id and its grants stay',
    consequence:
      'Where it is granted, agents and people act as the account that is authorized, with its scopes.',
    permission: 'connection.manage',
    input: AuthorizeIntegration,
    output: StartedAuthorizationView,
    commitsAnswer: true,
    refuses: { 409: 'It is connected with a key, or there is no client for it' },
  })
  async authorize(actor: Actor, input: AuthorizeIntegration): Promise<StartedAuthorizationView> {
    const row = await this.connections.require(actor, 'connection.manage', input.id);
    const definition = await this.catalog.require(row.organization_id, row.provider);
    if (definition.auth !== 'oauth2')
      throw new Conflict(`${definition.name} is connected with what was typed; change that by PATCH`);
    const scopes = input.scopes ?? (row.scopes.length > 0 ? row.scopes : undefined);
    const begin = await this.starts.prepare(row.organization_id, row.provider, { ...input, scopes });
    return this.database.transaction(async unit => {
      const authorization = await begin.start(unit, actor, row);
      if (!authorization) throw new Invalid('It takes no authorization');
      const { id, organization_id, provider, name } = row;
      const target = { type: 'connection', id, organization_id };
      const details = { provider, name, scopes };
      await this.audit.record(unit, actor, 'connection.begin_authorization', target, details);
      return unit.answers(authorization);
    });
  }

  @Action('integration_test', 'POST /api/integrations/:id/test', {
    on: { id: 'connection' },
    summary: 'Ask the service whether it takes a connection, and which account it is',
    effect: 'write',
    permission: 'connection.manage',
    input: ById({ id: 'The connection' }),
    output: IntegrationTestView,
    evidence: 'read the connection; asking again changes nothing there',
    refuses: { 409: 'It has to be authorized again', 503: 'The service cannot be reached' },
  })
  async test(actor: Actor, { id }: ById): Promise<IntegrationTestView> {
    const row = await this.connections.require(actor, 'connection.manage', id);
    beforeSideEffect();
    return this.starts.test(row);
  }
}
