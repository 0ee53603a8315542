import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Interaction as Details, errors, type InteractionResults, type Provider } from 'oidc-provider';
import type { SignInSource } from '../../sessions/index.js';
import { INTERACTION_ROUTE, OAUTH_ROUTES } from '../pages/routes.js';
import { ConsentRequest } from './consent-request.js';

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
