import { Controller, Get, Post, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { validate as isUuid } from 'uuid';
import { PageSessions } from '../../identity/page-sessions/index.js';
import { Public } from '../../platform/access/index.js';
import { BadRequest, NotFound } from '../../platform/errors/index.js';
import { sendOn, sendPage } from '../../platform/pages/index.js';
import { otherPersonPage, resultPage, signInPage } from './flow-pages.js';
import { OAuthFlows, RESULT_PAGE, START_PAGE } from './oauth-flows.js';

const START = `${START_PAGE}/:start`;
const RESULT = `${RESULT_PAGE}/:flowId`;
const CALLBACKS = ['/api/integrations/callback', '/api/connectors/callback'];

/** Where a person goes to a provider, comes back, and reads what came of it: forms, no scripts. */
@Public()
@ApiExcludeController()
@Controller()
export class FlowPagesController {
  constructor(
    private readonly sessions: PageSessions,
    private readonly flows: OAuthFlows,
  ) {}

  /** Sends the person who began it on; others sign in first. */
  @Get(START)
  start(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.sessions.show(request, reply, startAddress(request), async opened => {
      const { row, request: flow } = await this.flows.requireStart(readParam(request, 'start'));
      if (!opened.person) sendPage(reply, signInPage(opened, flow, ''));
      else if (opened.person.id !== row.user_id) sendPage(reply, otherPersonPage(opened, opened.person), 403);
      else sendOn(reply, await this.flows.send(row, opened.visit.id));
    });
  }

  @Post(`${START}/sign-in`)
  signIn(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.sessions.submit(request, reply, startAddress(request), async (opened, fields) => {
      const { request: flow } = await this.flows.requireStart(readParam(request, 'start'));
      await this.sessions.signIn(opened, fields, (email, problem) =>
        signInPage(opened, flow, email, problem),
      );
    });
  }

  @Post(`${START}/sign-out`)
  signOut(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.sessions.submit(request, reply, startAddress(request), opened =>
      this.sessions.signOut(opened),
    );
  }

  /** The redirect address. What it did is shown elsewhere, so that showing it again does nothing. */
  @Get(CALLBACKS)
  back(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const [path = ''] = request.url.split('?');
    return this.sessions.show(request, reply, path, async ({ person, visit }) => {
      const query = request.query as Record<string, unknown>;
      const text = (name: string) => (typeof query[name] === 'string' ? query[name] : undefined);
      const state = text('state');
      if (state === undefined) throw new BadRequest('The address lacks its state: start again');
      const returned = { state, code: text('code'), error: text('error'), iss: text('iss') };
      const id = await this.flows.take(path, person, visit.id, returned);
      sendOn(reply, `${RESULT_PAGE}/${id}`);
    });
  }

  @Get(RESULT)
  result(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.sessions.show(request, reply, resultAddress(request), async opened => {
      const row = await this.flows.requireResult(readFlowId(request), opened.person, opened.visit.id);
      sendPage(reply, resultPage(opened, row.outcome, this.flows.returnPath(row)));
    });
  }

  @Post(`${RESULT}/answer`)
  answer(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.sessions.submit(request, reply, resultAddress(request), async (opened, fields) => {
      const { person, visit, address } = opened;
      const row = await this.flows.requireResult(readFlowId(request), person, visit.id);
      if (person) await this.flows.answer(row, person, fields.get('answer') === 'yes');
      sendOn(reply, address);
    });
  }
}

const readParam = ({ params }: FastifyRequest, name: string): string =>
  (params as Record<string, string>)[name] ?? '';
const startAddress = (request: FastifyRequest): string =>
  `${START_PAGE}/${encodeURIComponent(readParam(request, 'start'))}`;
const resultAddress = (request: FastifyRequest): string =>
  `${RESULT_PAGE}/${encodeURIComponent(readParam(request, 'flowId'))}`;

function readFlowId(request: FastifyRequest): string {
  const id = readParam(request, 'flowId');
  if (!isUuid(id)) throw new NotFound('There is no such authorization');
  return id;
}
