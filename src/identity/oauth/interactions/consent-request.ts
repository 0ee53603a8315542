import type { Client } from 'oidc-provider';
import { type ClientIntroduction, introduce } from '../pages/client-introduction.js';
import { OFFERED_SCOPES, readOnly } from '../scopes/scopes.js';

const OIDC_SCOPES = ['openid', 'offline_access'];

/** The parameters of an authorization request, as oidc-provider keeps them. */
export interface RequestParameters {
  readonly client_id?: unknown;
  readonly redirect_uri?: unknown;
  readonly resource?: unknown;
  readonly scope?: unknown;
}

/** How much a client may do; the person chooses among those that it asked for. */
export interface AccessLevel {
  readonly value: 'all' | 'read';
  readonly scopes: readonly string[];
}

/** What a client asks a person for. */
export class ConsentRequest {
  readonly client: ClientIntroduction;
  readonly clientId: string;
  readonly resources: readonly string[];
  readonly scopes: readonly string[];
  /** Of OpenID Connect: they tell the client who the person is, and open nothing. */
  readonly oidcScopes: readonly string[];

  constructor(client: Client, parameters: RequestParameters) {
    const { redirect_uri, resource, scope } = parameters;
    this.clientId = client.clientId;
    this.client = introduce(client, typeof redirect_uri === 'string' ? redirect_uri : undefined);
    this.resources = [resource].flat().filter(each => typeof each === 'string');
    const asked = typeof scope === 'string' ? scope.split(' ') : [];
    this.scopes = asked.filter(each => OFFERED_SCOPES.includes(each));
    this.oidcScopes = asked.filter(each => OIDC_SCOPES.includes(each));
  }

  /** From everything that it asked for down to looking on. */
  get levels(): AccessLevel[] {
    const { scopes } = this;
    const reading = readOnly(scopes);
    const all: AccessLevel = { value: 'all', scopes };
    if (reading.length === 0 || reading.length === scopes.length) return [all];
    return [all, { value: 'read', scopes: reading }];
  }
}
