import { Injectable } from '@nestjs/common';
import { type Provider } from 'oidc-provider';
import { type Actor } from '../../../platform/access/index.js';
import { Audit } from '../../../platform/audit/index.js';
import { Database, newId } from '../../../platform/database/index.js';
import { NotFound } from '../../../platform/errors/index.js';
import { OrganizationsStore } from '../../organizations/index.js';
import { SignInsStore } from '../../page-sessions/index.js';
import { GrantsStore } from '../grants/grants.store.js';
import { type ConsentChoice, type WorkspaceGroup } from '../pages/consent-page.js';
import { ClientsStore } from '../storage/clients.store.js';
import { type ConsentRequest } from './interaction.js';
import { ChoosableWorkspace, WorkspaceChoices } from './workspace-choices.js';

const MAX_WORKSPACES = 200;
const MAX_ORGANIZATIONS = 200;

/** The choice cannot be what the person means; the message says what is missing. */
export class IncompleteChoice extends Error {}

/** Asking a person, and keeping what they answer. */
@Injectable()
export class ConsentService {
  constructor(
    private readonly database: Database,
    private readonly grants: GrantsStore,
    private readonly clients: ClientsStore,
    private readonly organizations: OrganizationsStore,
    private readonly signIns: SignInsStore,
    private readonly workspaces: WorkspaceChoices,
    private readonly audit: Audit,
  ) {}

  /** The person whom a browser session is of, by the sign-in it stands on. */
  async personOf(accountId: string, signIn: string): Promise<Actor> {
    const person = await this.signIns.personOf(accountId, signIn);
    if (!person) throw new NotFound('This account is no more');
    return person;
  }

  /** The workspaces that the person can choose from, by organization. */
  async choicesOf(person: Actor): Promise<WorkspaceGroup[]> {
    const workspaces = await this.workspaces.of(person, MAX_WORKSPACES);
    const { items } = await this.organizations.list(person, { limit: MAX_ORGANIZATIONS });
    return items
      .map(({ id, name }) => ({ organization: name, workspaces: ofOrganization(workspaces, id) }))
      .filter(group => group.workspaces.length > 0);
  }

  /** Keeps what the person allowed; answers the id of the grant. Throws {@link IncompleteChoice}. */
  async allow(
    provider: Provider,
    person: Actor,
    request: ConsentRequest,
    choice: ConsentChoice,
  ): Promise<string> {
    const level = request.levels.find(({ value }) => value === choice.level);
    if (!level) throw new IncompleteChoice('Choose what it may do.');
    const workspace_ids = await this.reachOf(person, choice);
    const grant = new provider.Grant({ accountId: person.id, clientId: request.clientId });
    grant.jti = newId();
    const rejected = request.scopes.filter(scope => !level.scopes.includes(scope));
    for (const resource of request.resources) {
      grant.addResourceScope(resource, level.scopes.join(' '));
      if (rejected.length > 0) grant.rejectResourceScope(resource, rejected.join(' '));
    }
    if (request.oidcScopes.length > 0) grant.addOIDCScope(request.oidcScopes.join(' '));
    const id = await grant.save();
    await this.complete(person, id, request, { workspace_ids, scopes: level.scopes });
    return id;
  }

  private async complete(
    person: Actor,
    id: string,
    { client, clientId, resources }: ConsentRequest,
    { workspace_ids, scopes }: { workspace_ids: string[] | null; scopes: readonly string[] },
  ): Promise<void> {
    await this.clients.recordUse(clientId);
    await this.database.transaction(async unit => {
      const names = { client_name: client.name, redirect_host: client.redirectHost };
      await this.grants.describe(unit, id, { ...names, workspace_ids, scopes: [...scopes] });
      const details = { ...names, client_id: clientId, scopes, resources, workspace_ids };
      await this.audit.record(unit, person, 'grant_create', { type: 'oauth_grant', id }, details);
    });
  }

  /** null for all; else those that were chosen, which the person must see. */
  private async reachOf(person: Actor, { reach, workspaceIds }: ConsentChoice): Promise<string[] | null> {
    if (reach === 'all') return null;
    if (reach !== 'chosen') throw new IncompleteChoice('Choose where it may do so.');
    const visible = await this.workspaces.of(person, MAX_WORKSPACES);
    const chosen = visible.map(({ id }) => id).filter(id => workspaceIds.includes(id));
    if (chosen.length === 0) throw new IncompleteChoice('Choose at least one workspace, or all of them.');
    return chosen;
  }
}

const ofOrganization = (workspaces: ChoosableWorkspace[], id: string) =>
  workspaces.filter(({ organization_id }) => organization_id === id);
