import { Controller, Post, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { validate as isUuid } from 'uuid';
import { PageSessions, type PersonAtPage, PersonPages } from '../../identity/page-sessions/index.js';
import { type Actor, Public } from '../../platform/access/index.js';
import { problemIn } from '../../platform/errors/index.js';
import { sendOn, sendPage } from '../../platform/pages/index.js';
import type { QuestionStatus } from './question.js';
import { endPage, questionPage, statusOf } from './question-page.js';
import type { QuestionView } from './questions.dto.js';
import { QUESTION_PAGE, QuestionsService } from './questions.service.js';

/** Where a person reads what an agent asks, and answers. */
@Public()
@ApiExcludeController()
@Controller(QUESTION_PAGE)
export class QuestionPageController extends PersonPages {
  constructor(
    sessions: PageSessions,
    private readonly questions: QuestionsService,
  ) {
    super(QUESTION_PAGE, 'to see what an agent asks you', sessions);
  }

  @Post(':id/answer')
  answer(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.take(request, reply, async (at, fields) => {
      const { opened, person, id } = at;
      if (isUuid(id)) {
        const given = { choices: fields.getAll('choice'), text: fields.get('text') ?? undefined };
        const problem = await problemIn(this.questions.answer(person, { question_id: id, ...given }));
        if (problem?.status === 422) return this.tell(at, problem.detail);
      }
      sendOn(reply, opened.address);
    });
  }

  protected async tell({ opened, person, id }: PersonAtPage, problem?: string): Promise<void> {
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
    const asked = this.questions.read(person, { question_id });
    return (await problemIn(asked)) ? undefined : asked;
  }
}
