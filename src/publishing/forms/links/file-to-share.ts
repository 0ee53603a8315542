import { Injectable } from '@nestjs/common';
import { Invalid } from '../../../platform/errors/index.js';
import { WorkspaceFolders } from '../../../workspaces/core/index.js';
import { FormFiles } from '../file/index.js';
import type { FileState, FormRow } from '../records/forms.store.js';
import { CurrentForms } from './current-forms.js';

/** The files of forms, for those who share them. */
@Injectable()
export class FileToShare {
  constructor(
    private readonly folders: WorkspaceFolders,
    private readonly files: FormFiles,
    private readonly forms: CurrentForms,
  ) {}

  /** 422 with the first mistake of a file that has some. */
  async read(workspace: { id: string; number: number }, path: string): Promise<FileState> {
    const { definition, findings, hash } = await this.files.read(
      workspace.id,
      this.folders.open(workspace),
      path,
    );
    if (definition) return { definition, hash };
    const { line, message } = findings.find(({ severity }) => severity === 'error') ?? findings[0] ?? {};
    throw new Invalid(
      `The form has mistakes; check it first: ${line ? `line ${line}: ` : ''}${message ?? 'it cannot be read'}`,
    );
  }

  current(form: FormRow): Promise<FormRow> {
    return this.forms.current(form);
  }
}
