import { Injectable, OnApplicationBootstrap } from '@nestjs/common';
import {
  type Actor,
  holdsAuthorityOf,
  requireScope,
  type WorkspacePermission,
} from '../../platform/access/index.js';
import { Action, Subject } from '../../platform/actions/index.js';
import { Audit } from '../../platform/audit/index.js';
import { Config } from '../../platform/config/index.js';
import { Database, iso, isoOrNull, type UnitOfWork } from '../../platform/database/index.js';
import type { Page } from '../../platform/dto/index.js';
import { ById } from '../../platform/dto/index.js';
import { Conflict, Forbidden, NotFound, unseenAs } from '../../platform/errors/index.js';
import { Events } from '../../platform/events/index.js';
import { DueTimers } from '../../platform/schedule/index.js';
import { WorkspacesStore } from '../../workspaces/core/index.js';
import { ChatsStore } from '../chats/index.js';
import { answerTo, type QuestionRow } from './question.js';
import {
  AnswerQuestion,
  ListQuestions,
  OpenQuestionView,
  QuestionPage,
  QuestionView,
} from './questions.dto.js';
import { questionAsked, questionClosed, questionClosing, questionReminded } from './questions.events.js';
import { QuestionsStore } from './questions.store.js';

/** The page on which a person answers; below it, by the id of the question. */
export const QUESTION_PAGE = '/questions';

const NONE = 'No such question';
const CLOSED = 'It was answered already, its time is over, or its run goes on without it';

/** How questions are shown, everywhere alike. */
@Injectable()
export class QuestionViews {
  constructor(private readonly config: Config) {}

  /** Where a person answers it. */
  linkTo(questionId: string): string {
    return `${this.config.baseUrl}${QUESTION_PAGE}/${questionId}`;
  }

  open(row: QuestionRow): OpenQuestionView {
    const { id, run_id: call_id, question, choices, multiple, allow_text, asked_of } = row;
    const asked = { id, call_id, question, choices, multiple, allow_text, asked_of };
    return { ...asked, link: this.linkTo(id), expires_at: iso(row.expires_at) };
  }

  of(row: QuestionRow): QuestionView {
    const { status, chat_id, workspace_id, answer, answered_by } = row;
    return {
      ...this.open(row),
      status,
      chat_id,
      workspace_id,
      tool_call_id: row.call_id,
      answer: answer && { choices: [...answer.choices], text: answer.text },
      answered_by,
      answered_at: isoOrNull(row.answered_at),
      created_at: iso(row.created_at),
    };
  }
}

/** What agents ask, and what people answer. */
@Injectable()
export class QuestionsService {
  constructor(
    private readonly database: Database,
    private readonly questions: QuestionsStore,
    private readonly chats: ChatsStore,
    private readonly workspaces: WorkspacesStore,
    private readonly events: Events,
    private readonly views: QuestionViews,
    private readonly audit: Audit,
  ) {}

  @Action('question_list', 'GET /api/agent/questions', {
    on: { chat_id: 'chat', workspace_id: 'workspace' },
    summary: 'List what agents ask people, newest first',
    permission: 'chat.read',
    input: ListQuestions,
    output: QuestionPage,
  })
  async list(actor: Actor, { limit, cursor, ...filter }: ListQuestions): Promise<Page<QuestionView>> {
    requireScope(actor, 'chat.read');
    if (filter.chat_id) await this.chats.require(actor, 'chat.read', filter.chat_id);
    if (filter.workspace_id) await this.workspaces.require(actor, 'chat.read', filter.workspace_id);
    const isOwn = !filter.chat_id && !filter.workspace_id;
    const { organization_id, workspace_ids } = actor.credential;
    const own = isOwn ? { asked_of: actor.id, organization_id, workspace_ids } : {};
    return this.questions.list({ ...filter, ...own, actor }, { limit, cursor }, row => this.views.of(row));
  }

  @Action('question_get', 'GET /api/agent/questions/:questionId', {
    on: 'question_id',
    summary: 'Read what an agent asks',
    permission: 'chat.read',
    input: ById({ question_id: 'The question' }),
    output: QuestionView,
  })
  async read(actor: Actor, { question_id }: ById<'question_id'>): Promise<QuestionView> {
    return this.views.of(await this.require(actor, 'chat.read', question_id));
  }

  @Action('question_answer', 'POST /api/agent/questions/:questionId/answers', {
    on: 'question_id',
    summary: 'Answer what an agent asks; its run goes on with the answer',
    permission: 'agent.run',
    personOnly: true,
    input: AnswerQuestion,
    output: QuestionView,
    commitsAnswer: true,
    refuses: { 409: CLOSED },
  })
  async answer(actor: Actor, { question_id, ...given }: AnswerQuestion): Promise<QuestionView> {
    const row = await this.require(actor, 'agent.run', question_id);
    if (actor.type !== 'user' || actor.credential.run || actor.credential.type === 'exec')
      throw new Forbidden('Only people answer what agents ask');
    // An answer enters the run as a message that steers it does.
    const starter = await this.questions.starterOf(row);
    if (!starter || !holdsAuthorityOf(actor, starter))
      throw new Forbidden(
        'Only the person for whom the run works answers it, with the credential that started it or a wider one',
      );
    if (row.status !== 'pending') throw new Conflict(CLOSED);
    const answer = answerTo(row, given);
    const answered = await this.close(
      row,
      unit => this.questions.answer(unit, row.id, answer, actor.id),
      unit => {
        const { id, organization_id, workspace_id, run_id } = row;
        const target = { type: 'question', id, organization_id, workspace_id };
        return this.audit.record(unit, actor, 'question.answer', target, { run_id });
      },
    );
    if (!answered) throw new Conflict(CLOSED);
    return answered;
  }

  /** No one answered in time: the run goes on without. */
  async expire(id: string): Promise<void> {
    const row = await this.questions.find(id);
    if (row) await this.close(row, unit => this.questions.expire(unit, id));
  }

  /** Answers with what it is now; undefined where it was closed already. */
  private close(
    row: QuestionRow,
    write: (unit: UnitOfWork) => Promise<boolean>,
    also?: (unit: UnitOfWork) => Promise<void>,
  ): Promise<QuestionView | undefined> {
    return this.database.transaction(async unit => {
      await this.questions.lockChat(unit, row);
      await this.events.publish(unit, questionClosing, { run_id: row.run_id });
      if (!(await write(unit))) return undefined;
      await also?.(unit);
      await this.events.publish(unit, questionClosed, { question_id: row.id });
      const closed = await this.questions.find(row.id, unit);
      return closed && unit.answers(this.views.of(closed));
    });
  }

  /** 404 where the caller does not see its chat, 403 where their role or their key is too low. */
  @Subject('question', 'workspace', ({ organization_id, workspace_id }: QuestionRow) => ({
    organization_id,
    workspace_id,
  }))
  private async require(actor: Actor, permission: WorkspacePermission, id: string): Promise<QuestionRow> {
    const row = await this.questions.find(id);
    if (!row) throw new NotFound(NONE);
    await unseenAs(NONE, this.chats.require(actor, permission, row.chat_id));
    requireScope(actor, permission);
    return row;
  }
}

const AT_ONCE = 100;

/** Reminds people of questions that are not answered yet, and closes those that were not answered in time. */
@Injectable()
export class QuestionDeadlines implements OnApplicationBootstrap {
  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly events: Events,
    private readonly timers: DueTimers,
    private readonly store: QuestionsStore,
    private readonly questions: QuestionsService,
  ) {}

  onApplicationBootstrap(): void {
    if (!this.config.runsJobs) return;
    this.timers.start({
      topic: questionAsked,
      take: async () => (await this.remind()) + (await this.expire()),
      next: () => this.store.untilNextDeadline(),
      failure: 'cannot close overdue questions; trying again',
    });
  }

  private remind(): Promise<number> {
    return this.database.transaction(async unit => {
      const ids = await this.store.takeReminders(unit, AT_ONCE);
      for (const question_id of ids) await this.events.publish(unit, questionReminded, { question_id });
      return ids.length;
    });
  }

  private async expire(): Promise<number> {
    const ids = await this.store.overdue(AT_ONCE);
    for (const id of ids) await this.questions.expire(id);
    return ids.length;
  }
}
