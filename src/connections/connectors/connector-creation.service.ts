import { Injectable } from '@nestjs/common';
import { GuardedFetch } from '#libs/guarded-fetch/index.js';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { Audit } from '../../platform/audit/index.js';
import { Database, type UnitOfWork } from '../../platform/database/index.js';
import { Conflict, Invalid } from '../../platform/errors/index.js';
import { requireReachable } from '../stored-credentials/index.js';
import { ClientRegistration } from './authorization/client-registration.js';
import { CredentialKeeper, typedCredential } from './authorization/credential-keeper.js';
import { newConnectorView } from './connector-views.js';
import { ConnectorView, CreateConnector } from './connectors.dto.js';
import { type ConnectorRow } from './records/connector-rows.js';
import { ConnectorsStore } from './records/connectors.store.js';
import { freeSlug, makeSlug } from './tools/tool-names.js';

const MAX_OF_ORGANIZATION = 100;
const MAX_OF_PERSON = 20;

@Injectable()
export class ConnectorCreation {
  constructor(
    private readonly database: Database,
    private readonly connectors: ConnectorsStore,
    private readonly keeper: CredentialKeeper,
    private readonly clients: ClientRegistration,
    private readonly outgoing: GuardedFetch,
    private readonly audit: Audit,
  ) {}

  @Action('connector_create', 'POST /api/connectors', {
    summary:
      'Bring a remote MCP server; agents have those of its tools that are approved, where it is allowed',
    description:
      'Its tools are looked up soon, or by POST /api/connectors/{id}/test. A server with auth oauth is authorized next, by ' +
      'POST /api/connectors/{id}/authorize.',
    consequence:
      'The server gets what agents send to it, once its tools are approved and allowed in a workspace.',
    permission: 'connection.manage',
    input: CreateConnector,
    output: ConnectorView,
    commitsAnswer: true,
    refuses: { 409: 'The slug is taken, or there are as many as there may be' },
  })
  async create(actor: Actor, input: CreateConnector): Promise<ConnectorView> {
    const { organization_id, owner, auth, client } = input;
    await this.connectors.requirePlace(actor, input);
    this.requireSound(input);
    const credential = typedCredential(input, input);
    return this.database.transaction(async unit => {
      await this.connectors.requirePlace(actor, input, unit);
      const slug = await this.slugFor(unit, actor, input);
      const row = await this.connectors.insert(unit, {
        organization_id,
        slug,
        auth,
        url: new URL(input.url).href,
        name: input.name.trim(),
        ...(await this.clients.keepTyped(unit, organization_id, client)),
        user_id: owner === 'user' ? actor.id : null,
        per_user: input.per_user ?? false,
        authorization_server: input.authorization_server ?? null,
        created_by: actor.id,
      });
      if (credential) await this.keeper.keep(unit, row, row.per_user ? actor.id : null, credential);
      else if (auth === 'none') await this.keeper.lookUp(unit, row.id, null);
      await this.record(unit, actor, row);
      return unit.answers(newConnectorView(row, credential !== undefined));
    });
  }

  private requireSound({ url, owner, auth, per_user, client, authorization_server }: CreateConnector): void {
    requireReachable(this.outgoing, url, 'url');
    if (new URL(url).hash !== '') throw new Invalid('url must not have a fragment');
    if (owner === 'user' && per_user) throw new Invalid('per_user is for connectors of organizations');
    if (auth === 'none' && per_user) throw new Invalid('per_user needs an auth other than none');
    if (auth !== 'oauth' && (client || authorization_server))
      throw new Invalid(`${client ? 'client' : 'authorization_server'} is for connectors with auth oauth`);
    if (authorization_server !== undefined)
      requireReachable(this.outgoing, authorization_server, 'authorization_server');
  }

  /** Unique in the organization, and so in each of its workspaces. */
  private async slugFor(
    unit: UnitOfWork,
    { id }: Actor,
    { organization_id, owner, name, slug }: CreateConnector,
  ): Promise<string> {
    const { slugs, owners } = await this.connectors.beside(unit, organization_id);
    const most = owner === 'user' ? MAX_OF_PERSON : MAX_OF_ORGANIZATION;
    const count = owners.filter(one => one === (owner === 'user' ? id : null)).length;
    if (count >= most) throw new Conflict(`There are ${most} connectors already; delete one first`);
    if (slug !== undefined && slugs.has(slug))
      throw new Conflict(`The slug ${slug} is taken in this organization; choose another one`);
    return slug ?? freeSlug(makeSlug(name), slugs);
  }

  private async record(unit: UnitOfWork, actor: Actor, row: ConnectorRow): Promise<void> {
    const { id, organization_id, name, url, auth, user_id, per_user } = row;
    const details = { name, host: new URL(url).host, auth, per_user, is_personal: user_id !== null };
    await this.audit.record(
      unit,
      actor,
      'connector.create',
      { type: 'connector', id, organization_id },
      details,
    );
  }
}
