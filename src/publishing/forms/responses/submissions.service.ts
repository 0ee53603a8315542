import { Injectable } from '@nestjs/common';
import type { Actor, WorkspacePermission } from '../../../platform/access/index.js';
import { Action } from '../../../platform/actions/index.js';
import { Audit } from '../../../platform/audit/index.js';
import { Database, iso, isoOrNull, type UnitOfWork } from '../../../platform/database/index.js';
import { ById, DeletedView, type Page, readPage } from '../../../platform/dto/index.js';
import { Conflict, NotFound } from '../../../platform/errors/index.js';
import { Topics } from '../../../platform/topics/index.js';
import { StagedFiles } from '../receiving/staged-files.js';
import { type AskedFormRow, FORM_LINK, FormsStore } from '../records/forms.store.js';
import { type SubmissionRow, SubmissionsStore, submissionsTopic } from '../records/submissions.store.js';
import { WaitingStore } from '../records/waiting.store.js';
import { filePath } from './response-batch.js';
import { ListSubmissions, RebuildView, SubmissionPage, SubmissionView } from './submissions.dto.js';

/** What was handed in through forms, as it is kept beside their files. */
@Injectable()
export class SubmissionsService {
  constructor(
    private readonly database: Database,
    private readonly forms: FormsStore,
    private readonly submissions: SubmissionsStore,
    private readonly waiting: WaitingStore,
    private readonly staged: StagedFiles,
    private readonly topics: Topics,
    private readonly audit: Audit,
  ) {}

  @Action('form_submission_list', 'GET /api/forms/:id/submissions', {
    on: { id: 'form' },
    summary:
      'List responses to a form that are kept beside its file: those that wait, and those taken for spam',
    permission: 'form.read',
    input: ListSubmissions,
    output: SubmissionPage,
  })
  async list(actor: Actor, input: ListSubmissions): Promise<Page<SubmissionView>> {
    const { id, state, ...asked } = input;
    const form = await this.require(actor, 'form.read', id);
    const page = await readPage({ by: 'id' }, asked, slice =>
      this.submissions.list(id, { states: state && [state], ...slice }),
    );
    return { ...page, items: page.items.map(row => toView(form, row)) };
  }

  @Action('form_submission_accept', 'POST /api/forms/:id/submissions/:submissionId/accept', {
    on: { id: 'form' },
    summary: 'Accept a response that was taken for spam: it is written to the file like any other',
    effect: 'write',
    permission: 'form.manage',
    input: ById({ id: 'The form', submission_id: 'The response' }),
    output: SubmissionView,
    commitsAnswer: true,
    refuses: { 409: 'It is not taken for spam' },
  })
  async accept(actor: Actor, { id, submission_id }: ById<'id' | 'submission_id'>): Promise<SubmissionView> {
    const form = await this.require(actor, 'form.manage', id);
    return this.database.transaction(async unit => {
      await this.requireRow(id, submission_id, unit);
      if (!(await this.submissions.accept(unit, submission_id)))
        throw new Conflict('It is not taken for spam');
      await this.audit.record(unit, actor, 'form.accept', FORM_LINK.target(form), { submission_id });
      await this.topics.publishWithCommit(unit, submissionsTopic());
      return unit.answers(toView(form, await this.requireRow(id, submission_id, unit)));
    });
  }

  @Action('form_submission_delete', 'DELETE /api/forms/:id/submissions/:submissionId', {
    on: { id: 'form' },
    summary: 'Delete a response that is kept beside the file of its form; the file stays as it is',
    consequence: 'What is not in the file yet is gone, with files that came with it.',
    permission: 'form.manage',
    input: ById({ id: 'The form', submission_id: 'The response' }),
    output: DeletedView,
  })
  async delete(actor: Actor, { id, submission_id }: ById<'id' | 'submission_id'>): Promise<DeletedView> {
    const form = await this.require(actor, 'form.manage', id);
    await this.database.transaction(async unit => {
      await this.requireRow(id, submission_id, unit);
      await this.submissions.remove(unit, submission_id);
      await this.audit.record(unit, actor, 'form.delete_submission', FORM_LINK.target(form), {
        submission_id,
      });
    });
    await this.staged.remove(id, submission_id);
    return DeletedView.of(submission_id);
  }

  @Action('form_rebuild', 'POST /api/forms/:id/rebuild', {
    on: { id: 'form' },
    summary: 'Look for all kept responses in the file of a form, and add those that are missing',
    effect: 'write',
    permission: 'form.manage',
    input: ById({ id: 'The form' }),
    output: RebuildView,
    commitsAnswer: true,
  })
  async rebuild(actor: Actor, { id }: ById): Promise<RebuildView> {
    const form = await this.require(actor, 'form.manage', id);
    return this.database.transaction(async unit => {
      await this.waiting.hurry(unit, id);
      const responses = (await this.submissions.writeAgain(unit, id)) + form.waiting;
      await this.audit.record(unit, actor, 'form.rebuild', FORM_LINK.target(form), { responses });
      await this.topics.publishWithCommit(unit, submissionsTopic());
      return unit.answers({ id, responses });
    });
  }

  private async require(actor: Actor, permission: WorkspacePermission, id: string): Promise<AskedFormRow> {
    const form = await this.forms.require(actor, id);
    FORM_LINK.requireRole(actor, form, permission);
    return form;
  }

  private async requireRow(formId: string, id: string, unit: UnitOfWork): Promise<SubmissionRow> {
    const row = await this.submissions.find(formId, id, unit);
    if (!row) throw new NotFound('No such response');
    return row;
  }
}

function toView(form: AskedFormRow, row: SubmissionRow): SubmissionView {
  const { id, form_id, state, reason, data, address_hash } = row;
  return {
    id,
    form_id,
    state,
    reason,
    data,
    files: row.files.map(file => {
      const { field, name, size } = file;
      return { field, name, size, path: state === 'written' ? filePath(form, id, file) : null };
    }),
    sender: address_hash.slice(-22),
    received_at: iso(row.received_at),
    written_at: isoOrNull(row.written_at),
  };
}
