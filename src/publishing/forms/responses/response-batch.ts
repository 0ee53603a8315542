import { Injectable } from '@nestjs/common';
import { isExactNumber, textOf } from '#libs/exact-json/index.js';
import { type WorkspaceFs, WorkspaceFsError } from '#libs/workspace-fs/index.js';
import { iso } from '../../../platform/database/index.js';
import { FileWriter } from '../../../workspaces/changes/index.js';
import { WorkspaceFolders } from '../../../workspaces/core/index.js';
import type { Answer, Answers } from '../file/answers.js';
import type { FieldType } from '../file/form-definition.js';
import { outputPath } from '../links/form-views.js';
import { StagedFiles } from '../receiving/staged-files.js';
import type { FormRow } from '../records/forms.store.js';
import type { HandedFile, SubmissionRow } from '../records/submissions.store.js';
import { type CsvRow, ID_COLUMN, safeCell, TIME_COLUMN } from './csv-table.js';
import { type Added, ResponseFile } from './response-file.js';

/** Some responses of one form on their way into its workspace: first their files, then their rows. Harmless when it is done twice. */
@Injectable()
export class ResponseBatch {
  constructor(
    private readonly folders: WorkspaceFolders,
    private readonly writer: FileWriter,
    private readonly staged: StagedFiles,
    private readonly file: ResponseFile,
  ) {}

  async write(form: FormRow, rows: readonly SubmissionRow[]): Promise<Added> {
    const workspaceId = form.workspace_id;
    const files = this.folders.open({ id: workspaceId, number: form.workspace_number });
    for (const row of rows) for (const one of row.files) await this.place(form, files, row, one);
    const output = outputPath({ ...form, csv_file: null }, form.definition.output);
    const target = {
      workspaceId,
      formId: form.id,
      files,
      output,
      path: outputPath(form, form.definition.output),
      columns: [ID_COLUMN, TIME_COLUMN, ...form.columns.map(({ id }) => id)],
    };
    return this.file.add(
      target,
      rows.map(row => toCsvRow(form, row)),
    );
  }

  /** What was staged for them is in the workspace. */
  async tidy(formId: string, rows: readonly SubmissionRow[]): Promise<void> {
    for (const { id, files } of rows) if (files.length > 0) await this.staged.remove(formId, id);
  }

  private async place(
    form: FormRow,
    files: WorkspaceFs,
    { id }: SubmissionRow,
    file: HandedFile,
  ): Promise<void> {
    // Of an earlier attempt, or when it is written once more.
    if (!(await this.staged.has(form.id, id, file))) return;
    const path = filePath(form, id, file);
    const writer = { type: 'form', id: form.id } as const;
    const where = { workspaceId: form.workspace_id, files, path, writer };
    const bytes = this.staged.read(form.id, id, file);
    try {
      await this.writer.write(where, bytes, { ifNoneMatch: '*', expectedBytes: file.size });
    } catch (error) {
      // Its folder is named by the response: what is there is this file.
      if (!(error instanceof WorkspaceFsError && ['exists', 'precondition_failed'].includes(error.code)))
        throw error;
    } finally {
      bytes.destroy();
    }
  }
}

/** Where a file of a response lies in the workspace: `signup.files/<response>/<name>`. */
export function filePath({ path }: Pick<FormRow, 'path'>, id: string, { name }: HandedFile): string {
  return `${path.replace(/\.form$/i, '')}.files/${id}/${name}`;
}

function toCsvRow(form: FormRow, { id, data, files, received_at }: SubmissionRow): CsvRow {
  const cells: Record<string, string> = { [ID_COLUMN]: id, [TIME_COLUMN]: iso(received_at) };
  for (const [field, answer] of Object.entries(collectAnswers(form, { id, data, files })))
    cells[field] = formatCell(answer, typeOf(form, field));
  return { id, cells };
}

/** The answers of a response by field; of files, where they lie. */
export function collectAnswers(
  form: FormRow,
  { id, data, files }: Pick<SubmissionRow, 'id' | 'data' | 'files'>,
): Answers {
  const paths = Object.entries(Object.groupBy(files, ({ field }) => field)).map(([field, some = []]) => [
    field,
    some.map(file => filePath(form, id, file)),
  ]);
  return { ...data, ...Object.fromEntries(paths) };
}

/** Undefined where the form has the field no more. */
export const typeOf = ({ definition }: Pick<FormRow, 'definition'>, id: string): FieldType | undefined =>
  definition.fields.find(field => field.id === id)?.type;

/** Nothing that a formula could be made of, but signs between numbers. */
const PHONE = /^\+?[\d ().\-/]+$/;

/** As it is written to a table: what is neither a number nor a telephone number is no formula either. */
export function formatCell(answer: Answer, type?: FieldType): string {
  if (typeof answer === 'number' || isExactNumber(answer)) return textOf(answer);
  if (typeof answer === 'boolean') return answer ? 'yes' : 'no';
  if (type === 'phone' && typeof answer === 'string' && PHONE.test(answer)) return answer;
  return safeCell(typeof answer === 'string' ? answer : answer.map(quoted).join('; '));
}

/** An item of a list, in quotes where it holds what separates items. */
const quoted = (item: string): string => (/[;"]/.test(item) ? `"${item.replaceAll('"', '""')}"` : item);
