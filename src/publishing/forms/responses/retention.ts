import { Injectable } from '@nestjs/common';
import { Config } from '../../../platform/config/index.js';
import { Chore } from '../../../platform/jobs/index.js';
import { StagedFiles } from '../receiving/staged-files.js';
import { SubmissionsStore } from '../records/submissions.store.js';

const HOUR_MS = 3_600_000;
const BATCH = 1_000;

/** Removes what is kept beside the files of forms when its time is over, and files of responses that never became rows. */
@Injectable()
export class FormRetention {
  constructor(
    private readonly config: Config,
    private readonly submissions: SubmissionsStore,
    private readonly staged: StagedFiles,
  ) {}

  @Chore('form_retention', { everyMs: HOUR_MS })
  async run(): Promise<void> {
    while ((await this.submissions.purge(this.config.retentionDays.forms, BATCH)) >= BATCH);
    await this.submissions.purgeChallenges();
    for await (const { formId, ids } of this.staged.old(HOUR_MS)) {
      const needed = await this.submissions.holding(ids);
      for (const id of ids) if (!needed.has(id)) await this.staged.remove(formId, id);
    }
  }
}
