import { Injectable } from '@nestjs/common';
import { stringify } from 'csv-stringify/sync';
import type { Actor } from '../../../platform/access/index.js';
import { Action } from '../../../platform/actions/index.js';
import { iso } from '../../../platform/database/index.js';
import { type AskedFormRow, FORM_LINK, FormsStore } from '../records/forms.store.js';
import { type SubmissionRow, SubmissionsStore } from '../records/submissions.store.js';
import { BOM, ID_COLUMN, safeCell, TIME_COLUMN } from './csv-table.js';
import { collectAnswers, formatCell, typeOf } from './response-batch.js';
import { ExportForm, SubmissionView } from './submissions.dto.js';

const BATCH = 500;

export interface Exported {
  readonly name: string;
  readonly type: string;
  readonly text: AsyncIterable<string>;
}

/** Responses that are kept beside the file of a form, as a file to save. */
@Injectable()
export class ExportsService {
  constructor(
    private readonly forms: FormsStore,
    private readonly submissions: SubmissionsStore,
  ) {}

  @Action('form_export', {
    on: { id: 'form' },
    summary: 'Download the responses to a form that are kept beside its file, as CSV or JSON',
    permission: 'form.read',
    input: ExportForm,
    output: SubmissionView,
    restOnly: true,
  })
  async export(
    actor: Actor,
    { id, format = 'csv', headers = 'id', bom = false }: ExportForm,
  ): Promise<Exported> {
    const form = await this.forms.require(actor, id);
    FORM_LINK.requireRole(actor, form, 'form.read');
    const name = form.path.slice(form.path.lastIndexOf('/') + 1).replace(/\.form$/i, '');
    if (format === 'json')
      return { name: `${name}.json`, type: 'application/json; charset=utf-8', text: this.json(form) };
    return {
      name: `${name}.csv`,
      type: 'text/csv; charset=utf-8',
      text: this.csv(form, headers === 'label', bom),
    };
  }

  private async *csv(form: AskedFormRow, isLabelled: boolean, bom: boolean): AsyncGenerator<string> {
    const names = form.columns.map(({ id, label }) => (isLabelled ? safeCell(label) : id));
    if (bom) yield BOM;
    yield stringify([[ID_COLUMN, TIME_COLUMN, ...names]]);
    for await (const rows of this.batches(form.id))
      yield stringify(
        rows.map(row => {
          const answers = collectAnswers(form, row);
          const cells = form.columns.map(({ id }) => formatCell(answers[id] ?? '', typeOf(form, id)));
          return [row.id, iso(row.received_at), ...cells];
        }),
      );
  }

  private async *json(form: AskedFormRow): AsyncGenerator<string> {
    let before = '[\n';
    for await (const rows of this.batches(form.id)) {
      yield before + rows.map(row => JSON.stringify(exported(form, row))).join(',\n');
      before = ',\n';
    }
    yield before === '[\n' ? '[]\n' : '\n]\n';
  }

  /** Without what is taken for spam. */
  private async *batches(formId: string): AsyncGenerator<SubmissionRow[]> {
    let after: string | undefined;
    do {
      const rows = await this.submissions.list(formId, {
        states: ['received', 'written'],
        after,
        limit: BATCH,
      });
      if (rows.length > 0) yield rows;
      after = rows.length < BATCH ? undefined : rows.at(-1)?.id;
    } while (after !== undefined);
  }
}

/** Unchanged, formulas and all: no spreadsheet opens JSON. */
const exported = (form: AskedFormRow, row: SubmissionRow) => ({
  submission_id: row.id,
  submitted_at: iso(row.received_at),
  ...collectAnswers(form, row),
});
