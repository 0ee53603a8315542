import { Controller, Get, Post, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../../../platform/access/index.js';
import { Gone, NotFound } from '../../../platform/errors/index.js';
import { readForm } from '../../../platform/pages/index.js';
import { Locked, passwordPage, sendNotice, sendSharePage, sendWords } from '../../exposure/index.js';
import { Browsing } from './browsing.js';
import { Dropping } from './dropping.js';
import { isAbsent, toldToVisitors, VisitsService } from './visits.service.js';

const WRONG = 'That is not the password of this link.';

/** What people see who follow a share link. Served on the share origin alone. */
@Public()
@ApiExcludeController()
@Controller()
export class VisitorsController {
  constructor(
    private readonly visits: VisitsService,
    private readonly browsing: Browsing,
    private readonly dropping: Dropping,
  ) {}

  @Get(['/s/:token', '/s/:token/path/*'])
  show(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return answer(request, reply, async () => {
      const visit = await this.visits.open(tokenOf(request), request);
      if (visit.allow === 'upload') await this.dropping.show(visit, request, reply);
      else await this.browsing.show(visit, withinOf(request), request, reply);
    });
  }

  @Post('/s/:token/unlock')
  unlock(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return answer(request, reply, async () => {
      const { password = '', next = '' } = await readForm(request);
      const token = tokenOf(request);
      const home = `/s/${token}`;
      if (!(await this.visits.unlock(reply, token, password.slice(0, 256), request.ip)))
        return sendSharePage(reply, { ...passwordPage(home, next, WRONG), status: 403 });
      void reply.redirect(next.startsWith(`${home}/path/`) ? next : home, 303);
    });
  }

  @Post('/s/:token/upload')
  upload(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return answer(request, reply, async () => {
      const visit = await this.visits.open(tokenOf(request), request);
      if (visit.allow !== 'upload') throw new NotFound('This link takes no files');
      await this.dropping.receive(visit, request, reply);
    });
  }
}

const tokenOf = ({ params }: FastifyRequest) => (params as { token: string }).token;
const pathOf = ({ url }: FastifyRequest) => url.split('?', 1).join('');

/** From the address as it was sent, which may be absolute: routers differ in what they make of escapes. */
function withinOf(request: FastifyRequest): string {
  const [, within = ''] = /^(?:[a-z]+:\/\/[^/]*)?\/[^/]+\/[^/]+\/path\/(.*)$/i.exec(pathOf(request)) ?? [];
  return decodeURIComponent(within);
}

/** Problems are shown as a page: a person reads them. */
async function answer(
  request: FastifyRequest,
  reply: FastifyReply,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (error instanceof Locked)
      return sendSharePage(reply, {
        ...passwordPage(`/s/${tokenOf(request)}`, pathOf(request)),
        status: 401,
      });
    if (error instanceof Gone) return sendNotice(reply, 'expired');
    if (error instanceof NotFound || isAbsent(error)) return sendNotice(reply, 'nowhere');
    const problem = toldToVisitors(error);
    if (!problem) throw error;
    sendWords(reply, problem.status, 'This did not work', `${problem.detail}.`, problem.headers);
  }
}
