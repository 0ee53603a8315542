import { Injectable } from '@nestjs/common';
import { isNoFile } from '#libs/workspace-fs/index.js';
import { Database, dryRun, newId } from '../../../platform/database/index.js';
import { Invalid } from '../../../platform/errors/index.js';
import { defineEvent, Events } from '../../../platform/events/index.js';
import { WorkspaceFolders } from '../../../workspaces/core/index.js';
import { type CheckedFile, FormFiles } from '../file/form-files.js';
import { type FileState, type FormRow, FormsStore } from '../records/forms.store.js';

/** The file of a form can no longer be shown, or its responses cannot be written where they belong. */
export const formTroubled = defineEvent<FormFacts & { problem: string }>('form.troubled');

export interface FormFacts {
  id: string;
  form_id: string;
  organization_id: string;
  workspace_id: string;
  path: string;
  title: string;
  created_by: string;
}

export const toFacts = (form: FormRow): FormFacts => {
  const { id: form_id, organization_id, workspace_id, path, created_by } = form;
  return {
    id: newId(),
    form_id,
    organization_id,
    workspace_id,
    path,
    title: form.definition.title,
    created_by,
  };
};

/** Forms as their files say now. The last text without mistakes is kept in the row, and who shared the form is told of others. */
@Injectable()
export class CurrentForms {
  constructor(
    private readonly database: Database,
    private readonly forms: FormsStore,
    private readonly folders: WorkspaceFolders,
    private readonly files: FormFiles,
    private readonly events: Events,
  ) {}

  /** The form with the definition of its file; with the last good one, and `broken`, where that has mistakes or is gone. */
  async current(form: FormRow): Promise<FormRow> {
    const file = await this.read(form);
    const { definition, hash } = file;
    const broken = definition ? null : describeProblem(form.path, file);
    if (definition && hash === form.definition_hash && form.broken === null) return form;
    if (broken !== null && broken === form.broken) return form;
    if (!dryRun()) await this.note(form, file, broken);
    return { ...form, broken, ...(definition && { definition, definition_hash: hash }) };
  }

  /** The file of a form that is to be shared. 422 with the first mistake of a file that has some. */
  async readShareable(workspace: { id: string; number: number }, path: string): Promise<FileState> {
    const folder = this.folders.open(workspace);
    const { definition, findings, hash } = await this.files.read(workspace.id, folder, path);
    if (definition) return { definition, hash };
    const { line, message } = findings.find(({ severity }) => severity === 'error') ?? findings[0] ?? {};
    throw new Invalid(
      `The form has mistakes; check it first: ${line ? `line ${line}: ` : ''}${message ?? 'it cannot be read'}`,
    );
  }

  private note(form: FormRow, { definition, hash }: CheckedFile, broken: string | null): Promise<void> {
    return this.database.transaction(async unit => {
      if (definition) return this.forms.learn(unit, form.id, { definition, hash });
      if (broken !== null && (await this.forms.breaks(unit, form.id, broken)))
        await this.events.publish(unit, formTroubled, { ...toFacts(form), problem: broken });
    });
  }

  private async read(form: FormRow): Promise<CheckedFile> {
    const files = this.folders.open({ id: form.workspace_id, number: form.workspace_number });
    try {
      return await this.files.read(form.workspace_id, files, form.path);
    } catch (error) {
      if (!isNoFile(error)) throw error;
      return { definition: null, hash: '', findings: [] };
    }
  }
}

function describeProblem(path: string, { findings }: CheckedFile): string {
  const first = findings.find(({ severity }) => severity === 'error');
  if (!first) return `There is no file ${path}; put it back, or say where it is now`;
  const { file, line, message, suggestion } = first;
  return [`${file}${line === null ? '' : `, line ${line}`}: ${message}.`, suggestion]
    .filter(Boolean)
    .join(' ');
}
