import { Injectable } from '@nestjs/common';
import type { Actor } from '../../../platform/access/index.js';
import type { UnitOfWork } from '../../../platform/database/index.js';
import { Conflict, Forbidden, NotFound } from '../../../platform/errors/index.js';
import { WorkspacesStore } from '../../../workspaces/core/index.js';
import { type HeldToken, Tokens } from '../../stored-credentials/index.js';
import {
  baseUrlOf,
  type CredentialHeader,
  credentialHeader,
  gitCredential,
  listHosts,
} from '../oauth/credential.js';
import { LimitedTokens } from '../oauth/limited-tokens.js';
import { ProviderCatalog } from '../oauth/provider-catalog.js';
import { type CredentialLimits, isLimited } from '../providers/credential-limits.js';
import type { ProviderDefinition } from '../providers/definition.js';
import { filledIn } from '../providers/provider.js';
import {
  type Account,
  type ConnectionRow,
  type ConnectionState,
  ConnectionsStore,
} from '../records/connections.store.js';
import { type GrantedRow, GrantsStore } from '../records/grants.store.js';

/** A connection that a caller may use in a workspace: what a request has to be like to get its credential. */
export interface GrantedConnection {
  readonly id: string;
  readonly organization_id: string;
  /** A person's own; null: the organization's. */
  readonly user_id: string | null;
  readonly provider: string;
  readonly name: string;
  readonly account: Account | null;
  readonly state: ConnectionState;
  /** Exact hosts, with a port where it is not the usual one. */
  readonly hosts: readonly string[];
  readonly base_url: string;
  /** The name of the header, and what it holds, e.g. `Bearer {access_token}`. */
  readonly header: string;
  readonly template: string;
  /** None: any. */
  readonly methods: readonly string[];
  /** Prefixes of normal paths; none: any. */
  readonly paths: readonly string[];
  /** Hosts of repositories, and the user name that goes with the token there. */
  readonly git: { readonly hosts: readonly string[]; readonly username: string } | null;
  /** What programs look for before they ask. */
  readonly variables: readonly string[];
  /** What the provider itself limits its credential to; null: it cannot. */
  readonly limits: CredentialLimits | null;
}

export interface OpenedCredential extends CredentialHeader {
  readonly tokenSetId: string;
  readonly revision: number;
}

/**
 * What a caller's program lists of connections, by the ids of their providers or their names; null where nothing limits it.
 * The room above that starts such programs registers one.
 */
export type ConnectionLimit = (actor: Actor) => Promise<readonly string[] | null>;

/** Which connections a caller may use in a workspace, and the way to use one. */
@Injectable()
export class GrantedConnections {
  private readonly limits: ConnectionLimit[] = [];

  constructor(
    private readonly workspaces: WorkspacesStore,
    private readonly connections: ConnectionsStore,
    private readonly grants: GrantsStore,
    private readonly catalog: ProviderCatalog,
    private readonly limited: LimitedTokens,
    private readonly tokens: Tokens,
  ) {}

  limitBy(limit: ConnectionLimit): void {
    this.limits.push(limit);
  }

  /** Those that are granted to the workspace: the organization's, and the caller's own. 403 where they may use none. */
  async list(actor: Actor, workspaceId: string): Promise<GrantedConnection[]> {
    await this.workspaces.require(actor, 'connection.use', workspaceId);
    const rows = await this.grants.usableBy(actor, workspaceId);
    const lists = await this.listsFor(actor);
    const found: GrantedConnection[] = [];
    for (const row of rows.filter(each => isListed(each, lists))) {
      const definition = await this.catalog.find(row.organization_id, row.provider);
      if (definition) found.push(toGrantedConnection(row, definition));
    }
    return found;
  }

  /** One of them; 404 where the caller does not see it, 403 where it may not be used there by them. */
  async require(actor: Actor, id: string, workspaceId: string): Promise<GrantedConnection> {
    await this.workspaces.require(actor, 'connection.use', workspaceId);
    const row = (await this.grants.usableBy(actor, workspaceId)).find(each => each.id === id);
    if (!row) {
      const { user_id } = await this.connections.require(actor, 'connection.read', id);
      if (user_id !== null && user_id !== actor.id)
        throw new Forbidden('It is the personal connection of another, and for what they run alone');
      throw new Forbidden('This connection is not granted to the workspace; its manager can grant it');
    }
    if (!isListed(row, await this.listsFor(actor)))
      throw new Forbidden(`What asks does not list ${row.name} or ${row.provider} under connections`);
    const definition = await this.catalog.find(row.organization_id, row.provider);
    if (!definition) throw new NotFound('No such connection');
    return toGrantedConnection(row, definition);
  }

  /**
   * Sends a request with the credential of a connection that was granted; at most twice, see {@link Tokens.use}. Throws
   * Conflict where a person has to authorize it again, Unavailable where its provider is away.
   */
  async use<T>(
    { id, limits }: Pick<GrantedConnection, 'id' | 'limits'>,
    send: (credential: CredentialHeader) => Promise<T>,
    isRejected?: (result: T) => boolean,
  ): Promise<T> {
    const { tokenSetId, definition, settings } = await this.usable(id, limits);
    return this.tokens.use(
      tokenSetId,
      (token: HeldToken) => send(credentialHeader(definition, settings, token)),
      isRejected,
    );
  }

  /** The credential of a connection that was granted, for one request that is sent now. Throws as {@link use} does. */
  async open(
    { id, limits }: Pick<GrantedConnection, 'id' | 'limits'>,
    service: 'api' | 'git',
  ): Promise<OpenedCredential> {
    const { tokenSetId, definition, settings } = await this.usable(id, limits);
    const headerOf = service === 'git' ? gitCredential : credentialHeader;
    return this.tokens.use(tokenSetId, async token => ({
      ...headerOf(definition, settings, token),
      tokenSetId,
      revision: token.revision,
    }));
  }

  /** Says that the service did not take a credential that was opened. */
  reject({ tokenSetId, revision }: Pick<OpenedCredential, 'tokenSetId' | 'revision'>): Promise<void> {
    return this.tokens.reject(tokenSetId, revision);
  }

  workspacesOf(unit: UnitOfWork, id: string): Promise<string[]> {
    return this.grants.workspacesOf(unit, id);
  }

  private async usable(id: string, limits: CredentialLimits | null) {
    const row = await this.connections.find(id);
    const definition = row && (await this.catalog.find(row.organization_id, row.provider));
    if (!row || !definition) throw new NotFound('No such connection');
    if (!row.token_set_id) throw new Conflict(`${row.name} is not connected yet; authorize it first`);
    const tokenSetId =
      limits && isLimited(limits) ? await this.limited.tokenSetFor(id, limits) : row.token_set_id;
    return { tokenSetId, settings: row.settings, definition };
  }

  private async listsFor(actor: Actor): Promise<(readonly string[])[]> {
    const lists = await Promise.all(this.limits.map(limit => limit(actor)));
    return lists.filter(list => list !== null);
  }
}

const isListed = ({ provider, name }: ConnectionRow, lists: readonly (readonly string[])[]): boolean =>
  lists.every(list => list.includes(provider) || list.includes(name));

export function toGrantedConnection(row: GrantedRow, definition: ProviderDefinition): GrantedConnection {
  const { id, organization_id, user_id, provider, name, account, state, settings, methods, paths } = row;
  const { repositories, permissions } = row;
  return {
    id,
    organization_id,
    user_id,
    provider,
    name,
    account,
    state,
    methods,
    paths,
    hosts: listHosts(definition, settings),
    base_url: baseUrlOf(definition, settings).href.replace(/\/$/, ''),
    header: filledIn(definition.api.header, settings),
    template: definition.api.template,
    git: definition.git ?? null,
    variables: definition.variables ?? [],
    limits: definition.auth === 'github_app' ? { repositories, permissions } : null,
  };
}
