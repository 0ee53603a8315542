import { Injectable } from '@nestjs/common';
import { WorkspaceFsError } from '#libs/workspace-fs/index.js';
import { Database, type UnitOfWork } from '../../../platform/database/index.js';
import { InsufficientStorage, problemOf } from '../../../platform/errors/index.js';
import { defineEvent, Events } from '../../../platform/events/index.js';
import { type NamedLease, NamedLeases } from '../../../platform/leases/index.js';
import { NoRoom } from '../../../workspaces/changes/index.js';
import { type FormFacts, formTroubled, toFacts } from '../links/current-forms.js';
import { type FormRow, FormsStore } from '../records/forms.store.js';
import { SubmissionsStore } from '../records/submissions.store.js';
import { WaitingStore } from '../records/waiting.store.js';
import { ResponseBatch } from './response-batch.js';

export const formSubmitted = defineEvent<FormFacts & { count: number; output: string }>('form.submitted');

const BATCH = 1_000;
const RETRY_SECONDS = 5 * 60;
/** Room comes back without anybody telling. */
const NO_ROOM_RETRY_SECONDS = 15;

/**
 * Writes what was received to the files of forms. The row is the truth: a response is marked as written after the file has
 * it, and is looked for in the file before it is added. One process at a time writes to the forms of a workspace.
 */
@Injectable()
export class ResponseWriter {
  constructor(
    private readonly database: Database,
    private readonly forms: FormsStore,
    private readonly submissions: SubmissionsStore,
    private readonly waiting: WaitingStore,
    private readonly batches: ResponseBatch,
    private readonly leases: NamedLeases,
    private readonly events: Events,
  ) {}

  async write({ form_id }: { form_id: string }): Promise<void> {
    await this.waiting.begin(form_id);
    const form = await this.forms.find(form_id);
    if (!form) return;
    try {
      await this.leases.hold(`form-responses ${form.workspace_id}`, lease => this.writeAll(form_id, lease));
    } catch (error) {
      const trouble = describeTrouble(error);
      if (trouble === undefined) throw error;
      await this.fail(form, trouble, isForRoom(error) ? NO_ROOM_RETRY_SECONDS : RETRY_SECONDS);
    }
  }

  async abandon({ form_id }: { form_id: string }): Promise<void> {
    const form = await this.forms.find(form_id);
    if (form)
      await this.fail(form, 'Responses could not be written, for a reason that the log of the service has');
  }

  private async writeAll(formId: string, lease: NamedLease): Promise<void> {
    for (;;) {
      const form = await this.forms.find(formId);
      const rows = form ? await this.submissions.list(formId, { states: ['received'], limit: BATCH }) : [];
      if (!form || rows.length === 0) return;
      const added = await this.batches.write(form, rows);
      await this.database.transaction(async unit => {
        await this.leases.require(unit, lease);
        await this.submissions.written(
          unit,
          rows.map(({ id }) => id),
        );
        await this.waiting.succeed(unit, formId);
        if (added.problem !== undefined) await this.moved(unit, form, added.path, added.problem);
        // Those that were written before are no news.
        const count = rows.filter(({ written_at }) => written_at === null).length;
        const facts = { ...toFacts(form), count, output: added.path };
        if (form.definition.notify && count > 0) await this.events.publish(unit, formSubmitted, facts);
      });
      await this.batches.tidy(formId, rows);
      if (rows.length < BATCH) return this.waiting.wake();
    }
  }

  /** From now on responses go there. */
  private async moved(unit: UnitOfWork, form: FormRow, path: string, reason: string): Promise<void> {
    await this.forms.update(unit, form.id, { csv_file: path.slice(path.lastIndexOf('/') + 1) });
    const problem = `${reason}; new responses go to ${path}. Mend it, then rebuild the form to have them all there.`;
    await this.events.publish(unit, formTroubled, { ...toFacts(form), problem });
  }

  private async fail(form: FormRow, trouble: string, seconds = RETRY_SECONDS): Promise<void> {
    await this.database.transaction(async unit => {
      if (await this.waiting.fail(unit, form.id, trouble, seconds))
        await this.events.publish(unit, formTroubled, {
          ...toFacts(form),
          problem: `${trouble} Nothing is lost.`,
        });
    });
  }
}

/** What people can do something about, in a sentence; undefined for anything else. */
function describeTrouble(error: unknown): string | undefined {
  if (error instanceof NoRoom)
    return 'The workspace is full, so responses wait to be written: delete something, and they are written within a minute.';
  if (error instanceof WorkspaceFsError && error.code !== 'aborted')
    return `Responses wait to be written: ${error.message}. Mend that, then rebuild the form or wait some minutes.`;
  return isForRoom(error) ? `Responses wait to be written: ${problemOf(error)?.detail}.` : undefined;
}

/** The workspace or a disk is full. */
const isForRoom = (error: unknown): boolean =>
  error instanceof NoRoom || problemOf(error) instanceof InsufficientStorage;
