import { type FastifyReply, type FastifyRequest } from 'fastify';
import {
  type Client,
  type Interaction as Details,
  errors,
  type InteractionResults,
  type Provider,
} from 'oidc-provider';
import type { HtmlPage } from '../../../platform/pages/index.js';
import { type SignInSource } from '../../sessions/index.js';
import { type ClientIntroduction, introduce } from '../pages/consent-page.js';
import { INTERACTION_ROUTE, OAUTH_ROUTES } from '../pages/pages.js';
import { OFFERED_SCOPES, readOnly } from '../scopes/scopes.js';

const OIDC_SCOPES = ['openid', 'offline_access'];

/** The parameters of an authorization request, as oidc-provider keeps them. */
interface RequestParameters {
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

/** What a step answers: a page, or where the browser goes on. */
export type Step = { page: HtmlPage; status?: number } | { location: string };

/** One authorization request, waiting for a person in one browser. */
export class Interaction {
  constructor(
    readonly provider: Provider,
    private readonly details: Details,
    /** What proves that a form comes from our page. */
    readonly csrf: string,
    private readonly request: FastifyRequest,
    private readonly reply: FastifyReply,
  ) {}

  asksFor(prompt: 'login' | 'consent'): boolean {
    return this.details.prompt.name === prompt;
  }

  /** Where one of its forms goes. */
  action(step: 'login' | 'consent' | 'switch'): string {
    return `${INTERACTION_ROUTE}/${this.details.uid}/${step}`;
  }

  /** Who is signed in, and by which sign-in. */
  get signedIn(): { accountId: string; signIn: string } {
    const { accountId, acr } = (this.details.session ?? {}) as { accountId?: string; acr?: string };
    if (!accountId || !acr) throw new errors.SessionNotFound('session not found');
    return { accountId, signIn: acr };
  }

  get loginHint(): string {
    const { login_hint } = this.details.params;
    return typeof login_hint === 'string' && login_hint.length < 255 ? login_hint : '';
  }

  get from(): SignInSource {
    return { userAgent: this.request.headers['user-agent'], address: this.request.ip };
  }

  async consentRequest(): Promise<ConsentRequest> {
    const client = await this.provider.Client.find(String(this.details.params.client_id));
    if (!client) throw new errors.InvalidClient('client not found');
    return new ConsentRequest(client, this.details.params);
  }

  /** Settles it with `result`; answers where the browser goes on. */
  settle(result: InteractionResults): Promise<string> {
    const { raw } = this.request;
    return this.provider.interactionResult(raw, this.reply.raw, result, { mergeWithLastSubmission: false });
  }

  /** Whether it can be begun anew: what a device asked for cannot, its code is used up. */
  get canRestart(): boolean {
    return this.details.deviceCode === undefined;
  }

  /** Drops the browser's session; answers the address that asks for the same again. */
  async restart(): Promise<string> {
    const { session } = this.details;
    const stored = session?.uid ? await this.provider.Session.findByUid(session.uid) : undefined;
    await stored?.destroy();
    await this.details.destroy();
    const parameters = new URLSearchParams();
    for (const [name, value] of Object.entries(this.details.params))
      for (const each of [value].flat()) if (typeof each === 'string') parameters.append(name, each);
    return `${OAUTH_ROUTES.authorization}?${parameters}`;
  }
}
