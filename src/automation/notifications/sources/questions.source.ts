import { Injectable, OnModuleInit } from '@nestjs/common';
import { shortName } from '#libs/plain-text/index.js';
import {
  type QuestionRow,
  QuestionsStore,
  QuestionViews,
  questionClosed,
  questionOpened,
  questionReminded,
} from '../../../agents/questions/index.js';
import { iso } from '../../../platform/database/index.js';
import { type Notice, Notifier } from '../delivery/index.js';
import { SourcesStore } from './sources.store.js';

const MAX_QUESTION = 500;

/** What agents ask. The person for whom the run works is notified, and reminded once. */
@Injectable()
export class QuestionsSource implements OnModuleInit {
  constructor(
    private readonly notifier: Notifier,
    private readonly questions: QuestionsStore,
    private readonly views: QuestionViews,
    private readonly store: SourcesStore,
  ) {}

  onModuleInit(): void {
    this.notifier.on(questionOpened, 'run.question', ({ question_id }) =>
      this.noticeOf(question_id, (place, row) => ({
        title: `An agent asks you something${place}`,
        body: `${shortName(row.question, MAX_QUESTION)} It waits for your answer until ${iso(row.expires_at)}.`,
      })),
    );
    this.notifier.on(questionReminded, 'run.question_reminded', ({ question_id }) =>
      this.noticeOf(question_id, (place, row) => ({
        title: `An agent still waits for your answer${place}`,
        body: `${shortName(row.question, MAX_QUESTION)} At ${iso(row.expires_at)} its time is over, and the agent decides itself.`,
      })),
    );
    for (const type of ['run.question', 'run.question_reminded'] as const)
      this.notifier.settledBy(questionClosed, type, ({ question_id }) => question_id);
  }

  /** Undefined where the question is not open any more. */
  private async noticeOf(
    question_id: string,
    wordsFor: (place: string, row: QuestionRow) => Pick<Notice, 'title' | 'body'>,
  ): Promise<Notice | undefined> {
    const row = await this.questions.find(question_id);
    if (row?.status !== 'pending') return undefined;
    const { asked_of, organization_id, workspace_id, run_id, chat_id } = row;
    const run = await this.store.run(run_id);
    return {
      audience: { people: [asked_of] },
      organization_id,
      workspace_id,
      about: question_id,
      ...wordsFor(run ? ` in “${shortName(run.title)}”` : '', row),
      link: this.views.linkTo(question_id),
      data: { question_id, run_id, chat_id },
      chain: run?.actor.chain,
      expires_at: iso(row.expires_at),
    };
  }
}
