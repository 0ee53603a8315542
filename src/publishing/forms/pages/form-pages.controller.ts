import { Controller, Get, Options, Post, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../../../platform/access/index.js';
import { Forbidden, Gone, Unauthorized } from '../../../platform/errors/index.js';
import { LinkPages, Locked, sendDocument, sendSharePage, tokenOf } from '../../exposure/index.js';
import { FormVisits, type OpenForm } from '../receiving/form-visits.js';
import { isJson } from '../receiving/handed-in.js';
import { ProofOfWork } from '../receiving/proof-of-work.js';
import { type Outcome, Receiving } from '../receiving/receiving.js';
import { Tickets } from '../receiving/tickets.js';
import { FORM_LINK } from '../records/forms.store.js';
import { closedPage, closedReason, donePage, formPage, isClosed } from './form-page.js';
import { ReadyPages } from './ready-pages.js';

/** What people see who follow the link of a form. Served on the share origin alone. */
@Public()
@ApiExcludeController()
@Controller()
export class FormPagesController {
  private readonly ready = new ReadyPages();

  constructor(
    private readonly pages: LinkPages,
    private readonly visits: FormVisits,
    private readonly tickets: Tickets,
    private readonly proofs: ProofOfWork,
    private readonly receiving: Receiving,
  ) {}

  @Get('/f/:token')
  show(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.pages.answer(FORM_LINK, request, reply, async () => {
      const open = await this.visits.open(tokenOf(request), request);
      if (isClosed(open.state)) return sendSharePage(reply, closedPage(open.definition, open.state));
      const { headers, document } = this.ready.fill(await this.shown(open));
      sendDocument(reply, 200, headers, document);
    });
  }

  @Get('/f/:token/done')
  done(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.pages.answer(FORM_LINK, request, reply, async () => {
      const { definition } = await this.visits.open(tokenOf(request), request);
      sendSharePage(reply, donePage(definition));
    });
  }

  @Post('/f/:token')
  send(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    if (isJson(request)) return this.sendJson(request, reply);
    return this.pages.answer(FORM_LINK, request, reply, async () => {
      const open = await this.visits.open(tokenOf(request), request);
      if (isClosed(open.state)) return sendSharePage(reply, closedPage(open.definition, open.state));
      const outcome = await this.receiving.receive(open, request);
      if (outcome.kind === 'closed') return sendSharePage(reply, closedPage(open.definition, 'closed'));
      if (outcome.kind === 'refused') return sendSharePage(reply, await this.page(open, outcome));
      void reply.redirect(open.definition.confirmation.redirect ?? `${open.home}/done`, 303);
    });
  }

  @Post('/f/:token/unlock')
  unlock(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.pages.unlock(FORM_LINK, request, reply, token => this.visits.find(token));
  }

  /** For the widget the challenge alone; for scripts with what they send it with. */
  @Get('/f/:token/challenge')
  async challenge(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const open = await this.openForScripts(request, reply);
    void reply.header('cache-control', 'no-store');
    const challenge = () => this.proofs.challenge(open.form.id);
    if ((request.query as Record<string, unknown>).of === 'widget') return void reply.send(await challenge());
    const isNeeded = await this.proofs.isNeeded(open.form.id, open.definition);
    const { ticket } = this.tickets.issue(open.form.id);
    void reply.send({ ticket, challenge: isNeeded ? await challenge() : null });
  }

  @Options(['/f/:token', '/f/:token/challenge'])
  async options(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.openForScripts(request, reply);
    void reply
      .headers({
        'access-control-allow-methods': 'GET, POST',
        'access-control-allow-headers': 'content-type',
        'access-control-max-age': '600',
      })
      .status(204)
      .send();
  }

  private async sendJson(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const open = await this.openForScripts(request, reply);
    const outcome = isClosed(open.state)
      ? { kind: 'closed' as const }
      : await this.receiving.receive(open, request);
    if (outcome.kind === 'closed') throw new Gone(closedReason(isClosed(open.state) ? open.state : 'closed'));
    if (outcome.kind === 'refused') {
      const fields = new Map(open.definition.fields.map(field => [field.id, field.label]));
      const errors = outcome.mistakes.map(({ id, message }) => ({
        field: id,
        message: `${fields.get(id)}: ${message}`,
      }));
      const detail = outcome.problem ?? 'Some answers are to be mended';
      return void reply.status(422).send({ detail, errors });
    }
    const { title, text, redirect } = open.definition.confirmation;
    void reply.status(200).send({ received: true, confirmation: { title, text, redirect } });
  }

  /** 403 for scripts of pages that may not embed the form. */
  private async openForScripts(request: FastifyRequest, reply: FastifyReply): Promise<OpenForm> {
    const open = await asProblem(this.visits.open(tokenOf(request), request));
    const { origin } = request.headers;
    void reply.header('vary', 'origin');
    if (origin === undefined || isOwn(request, origin)) return open;
    if (!open.definition.embed.includes(origin))
      throw new Forbidden(`The form does not list ${origin.slice(0, 200)} under embed`);
    void reply.headers({
      'access-control-allow-origin': origin,
      'cross-origin-resource-policy': 'cross-origin',
    });
    return open;
  }

  private async page(open: OpenForm, { values, mistakes, problem }: Outcome & { kind: 'refused' }) {
    const filled = { values, mistakes: new Map(mistakes.map(({ id, message }) => [id, message])) };
    return formPage({ ...(await this.shown(open)), filled, problem, status: 422 });
  }

  private async shown({ form, definition, home }: OpenForm) {
    const proof = await this.proofs.isNeeded(form.id, definition);
    return { definition, home, proof, ...this.tickets.issue(form.id) };
  }
}

const isOwn = ({ headers }: FastifyRequest, origin: string): boolean =>
  URL.parse(origin)?.host === headers.host;

async function asProblem<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof Locked) throw new Unauthorized('The form has a password; open it in a browser');
    throw error;
  }
}
