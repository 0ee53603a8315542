import { Controller, Get, Post, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { errors, type Provider } from 'oidc-provider';
import { Public } from '../../../platform/access/index.js';
import { Forbidden, problemOf } from '../../../platform/errors/index.js';
import { readFields, sendOn, sendPage } from '../../../platform/pages/index.js';
import { type Seal, Vault } from '../../../platform/vault/index.js';
import { errorPage, INTERACTION_ROUTE } from '../pages/pages.js';
import { OAuthProvider } from '../provider/oauth-provider.js';
import { ConsentPages } from './consent-pages.js';
import { Interaction, type Step } from './interaction.js';
import { LoginPages } from './login-pages.js';

const PAGE = `${INTERACTION_ROUTE}/:uid`;

/** Where a person signs in and says what an application may do: forms and redirects, no scripts. */
@Public()
@ApiExcludeController()
@Controller()
export class InteractionController {
  private readonly forms: Seal;

  constructor(
    private readonly provider: OAuthProvider,
    private readonly login: LoginPages,
    private readonly consent: ConsentPages,
    vault: Vault,
  ) {
    this.forms = vault.seal('oauth csrf');
  }

  @Get(PAGE)
  show(@Req() request: FastifyRequest, @Res() reply: FastifyReply) {
    return this.answer(request, reply, interaction =>
      interaction.asksFor('login') ? this.login.show(interaction) : this.consent.show(interaction),
    );
  }

  @Post(`${PAGE}/login`)
  signIn(@Req() request: FastifyRequest, @Res() reply: FastifyReply) {
    return this.submit(request, reply, (interaction, fields) => this.login.submit(interaction, fields));
  }

  @Post(`${PAGE}/consent`)
  decide(@Req() request: FastifyRequest, @Res() reply: FastifyReply) {
    return this.submit(request, reply, (interaction, fields) => this.consent.submit(interaction, fields));
  }

  @Post(`${PAGE}/switch`)
  switchAccount(@Req() request: FastifyRequest, @Res() reply: FastifyReply) {
    return this.submit(request, reply, interaction => this.login.switchAccount(interaction));
  }

  /** A form counts only if it comes from the page that this browser was shown. */
  private submit(
    request: FastifyRequest,
    reply: FastifyReply,
    work: (interaction: Interaction, fields: URLSearchParams) => Promise<Step>,
  ): Promise<void> {
    return this.answer(request, reply, async interaction => {
      const fields = await readFields(request);
      const { uid } = request.params as { uid: string };
      const crossSite = request.headers['sec-fetch-site'] === 'cross-site';
      if (crossSite || !this.forms.verify(uid, fields.get('csrf') ?? ''))
        throw new Forbidden('This form does not come from the page that you were shown');
      return work(interaction, fields);
    });
  }

  private async answer(
    request: FastifyRequest,
    reply: FastifyReply,
    work: (interaction: Interaction) => Promise<Step>,
  ): Promise<void> {
    const step = await this.take(request, reply, work);
    if ('location' in step) {
      sendOn(reply, step.location);
      return;
    }
    const { page, status = 200 } = step;
    sendPage(reply, page, status);
  }

  /** Failures are shown as a page, too: a person reads them. */
  private async take(
    request: FastifyRequest,
    reply: FastifyReply,
    work: (interaction: Interaction) => Promise<Step>,
  ): Promise<Step> {
    try {
      return await work(await this.interactionOf(await this.provider.current(), request, reply));
    } catch (error) {
      if (error instanceof errors.OIDCProviderError) return { page: errorPage(outOf(error)), status: 400 };
      const problem = problemOf(error);
      if (!problem) throw error;
      const page = errorPage({ error: 'invalid_request', error_description: problem.detail });
      return { page, status: problem.status };
    }
  }

  private async interactionOf(
    provider: Provider,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<Interaction> {
    const details = await provider.interactionDetails(request.raw, reply.raw);
    const { uid } = request.params as { uid: string };
    if (details.uid !== uid) throw new errors.SessionNotFound('interaction session not found');
    return new Interaction(provider, details, this.forms.sign(uid), request, reply);
  }
}

/** What oidc-provider tells of an error: its message is no more than the code. */
const outOf = ({ error, error_description, message }: errors.OIDCProviderError) => ({
  error,
  error_description: error_description ?? message,
});
