import { Injectable, OnModuleInit } from '@nestjs/common';
import { shortName } from '#libs/plain-text/index.js';
import {
  QuestionsStore,
  QuestionViews,
  questionClosed,
  questionOpened,
} from '../../../agents/questions/index.js';
import { iso } from '../../../platform/database/index.js';
import { Notifier } from '../delivery/index.js';
import { SourcesStore } from './sources.store.js';

const MAX_QUESTION = 500;

/** What agents ask. Who is asked is notified: the person for whom the run works. */
@Injectable()
export class QuestionsSource implements OnModuleInit {
  constructor(
    private readonly notifier: Notifier,
    private readonly questions: QuestionsStore,
    private readonly views: QuestionViews,
    private readonly store: SourcesStore,
  ) {}

  onModuleInit(): void {
    this.notifier.on(questionOpened, 'run.question', async ({ question_id }) => {
      const row = await this.questions.find(question_id);
      if (row?.status !== 'pending') return undefined;
      const { asked_of, organization_id, workspace_id, run_id, chat_id } = row;
      const run = await this.store.run(run_id);
      const expires_at = iso(row.expires_at);
      return {
        audience: { people: [asked_of] },
        ...{ organization_id, workspace_id, about: question_id },
        title: `An agent asks you something${run ? ` in “${shortName(run.title)}”` : ''}`,
        body: `${shortName(row.question, MAX_QUESTION)} It waits for your answer until ${expires_at}.`,
        link: this.views.linkTo(question_id),
        data: { question_id, run_id, chat_id },
        chain: run?.actor.chain,
        expires_at,
      };
    });
    this.notifier.settledBy(questionClosed, 'run.question', ({ question_id }) => question_id);
  }
}
