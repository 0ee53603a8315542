import { Controller, Get, Post, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { validate as isUuid } from 'uuid';
import { type OpenPage, PageSessions } from '../../identity/page-sessions/index.js';
import { type Actor, Public } from '../../platform/access/index.js';
import { problemOf } from '../../platform/errors/index.js';
import { sendOn, sendPage } from '../../platform/pages/index.js';
import type { QuestionStatus } from './question.js';
import { endPage, questionPage, signInPage, statusOf } from './question-page.js';
import type { QuestionView } from './questions.dto.js';
import { QUESTION_PAGE, QuestionsService } from './questions.service.js';

const PAGE = `${QUESTION_PAGE}/:questionId`;

/** Where a person reads what an agent asks, and answers: forms, no scripts. Opening the page changes nothing. */
@Public()
@ApiExcludeController()
@Controller()
export class QuestionPageController {
  constructor(
    private readonly sessions: PageSessions,
    private readonly questions: QuestionsService,
  ) {}

  @Get(PAGE)
  show(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.sessions.show(request, reply, addressOf(request), async opened => {
      if (!opened.person) sendPage(reply, signInPage(opened, ''));
      else await this.tell(opened, opened.person, idOf(request));
    });
  }

  @Post(`${PAGE}/sign-in`)
  signIn(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.sessions.submit(request, reply, addressOf(request), (opened, fields) =>
      this.sessions.signIn(opened, fields, (email, problem) => signInPage(opened, email, problem)),
    );
  }

  @Post(`${PAGE}/answer`)
  answer(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.sessions.submit(request, reply, addressOf(request), async (opened, fields) => {
      const { person, address } = opened;
      const id = idOf(request);
      if (person && isUuid(id)) {
        const given = { choices: fields.getAll('choice'), text: fields.get('text') ?? undefined };
        const problem = await refusalOf(this.questions.answer(person, { question_id: id, ...given }));
        if (problem?.status === 422) return this.tell(opened, person, id, problem.detail);
      }
      sendOn(reply, address);
    });
  }

  @Post(`${PAGE}/sign-out`)
  signOut(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.sessions.submit(request, reply, addressOf(request), opened => this.sessions.signOut(opened));
  }

  private async tell(opened: OpenPage, person: Actor, id: string, problem?: string): Promise<void> {
    const email = person.email ?? person.name;
    const view = await this.look(person, id);
    const standing = view === undefined ? 'unknown' : (view.status as QuestionStatus);
    if (view && standing === 'pending') {
      const isAsked = view.asked_of === person.id;
      sendPage(opened.reply, questionPage(opened, view, { email, isAsked, problem }), problem ? 422 : 200);
    } else if (standing !== 'pending')
      sendPage(opened.reply, endPage(opened, standing, email), statusOf(standing));
  }

  private async look(person: Actor, question_id: string): Promise<QuestionView | undefined> {
    if (!isUuid(question_id)) return undefined;
    try {
      return await this.questions.read(person, { question_id });
    } catch (error) {
      if (problemOf(error)) return undefined;
      throw error;
    }
  }
}

async function refusalOf(asked: Promise<unknown>) {
  try {
    await asked;
    return undefined;
  } catch (error) {
    const problem = problemOf(error);
    if (!problem) throw error;
    return problem;
  }
}

const idOf = ({ params }: FastifyRequest): string => (params as { questionId?: string }).questionId ?? '';
const addressOf = (request: FastifyRequest): string =>
  `${QUESTION_PAGE}/${encodeURIComponent(idOf(request))}`;
