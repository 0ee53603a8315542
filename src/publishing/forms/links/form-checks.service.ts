import { Injectable } from '@nestjs/common';
import { workspacePath } from '#libs/workspace-fs/index.js';
import type { Actor } from '../../../platform/access/index.js';
import { Action } from '../../../platform/actions/index.js';
import { Audit } from '../../../platform/audit/index.js';
import { Database } from '../../../platform/database/index.js';
import { Invalid } from '../../../platform/errors/index.js';
import { WorkspaceFolders, WorkspacesStore } from '../../../workspaces/core/index.js';
import { answered } from '../file/form-definition.js';
import { FormFiles } from '../file/form-files.js';
import { FormsStore } from '../records/forms.store.js';
import { outputPath } from './form-views.js';
import { FormCheck, FormPath, FormPreview } from './forms.dto.js';
import { Previews } from './previews.js';

/** Looking at a form before it is shared. */
@Injectable()
export class FormChecksService {
  constructor(
    private readonly database: Database,
    private readonly forms: FormsStore,
    private readonly workspaces: WorkspacesStore,
    private readonly folders: WorkspaceFolders,
    private readonly files: FormFiles,
    private readonly previews: Previews,
    private readonly audit: Audit,
  ) {}

  @Action('form_check', 'POST /api/workspaces/:workspaceId/forms/check', {
    summary: 'Check a .form file: its mistakes with lines and suggestions, and the columns of its responses',
    permission: 'form.read',
    input: FormPath,
    output: FormCheck,
    commitsAnswer: true,
    refuses: { 404: 'No such workspace or file' },
  })
  async check(actor: Actor, input: FormPath): Promise<FormCheck> {
    const workspace = await this.workspaces.require(actor, 'form.read', input.workspace_id);
    const path = readFormPath(input.path);
    const { definition, findings } = await this.files.read(workspace.id, this.folders.open(workspace), path);
    const columns = definition ? answered(definition).map(({ id }) => id) : [];
    const id = await this.forms.idAt(this.database, workspace.id, path);
    const form = id && (await this.forms.find(id));
    const check: FormCheck = {
      ok: definition !== null,
      title: definition?.title ?? null,
      findings: [...findings],
      columns: definition ? ['submission_id', 'submitted_at', ...columns] : [],
      output: definition && outputPath(form || { path, csv_file: null }, definition.output),
    };
    return this.database.transaction(unit => unit.answers(check));
  }

  @Action('form_preview', 'POST /api/workspaces/:workspaceId/forms/preview', {
    summary: 'Show a .form file as a page for fifteen minutes, without sharing it; it stores nothing',
    consequence: 'Those who get the address see the questions of the form for fifteen minutes.',
    permission: 'form.share',
    input: FormPath,
    output: FormPreview,
    commitsAnswer: true,
    refuses: { 404: 'No such workspace or file', 409: 'There is no host for links' },
  })
  async preview(actor: Actor, input: FormPath): Promise<FormPreview> {
    const workspace = await this.workspaces.require(actor, 'form.share', input.workspace_id);
    const path = readFormPath(input.path);
    await this.files.read(workspace.id, this.folders.open(workspace), path);
    const preview = this.previews.make({ workspace_id: workspace.id, number: workspace.number, path });
    return this.database.transaction(async unit => {
      const { id, organization_id } = workspace;
      const target = { type: 'workspace', id, organization_id, workspace_id: id };
      await this.audit.record(unit, actor, 'form.preview', target, { path });
      return unit.answers(preview);
    });
  }
}

/** 422 for what is no form by its name. */
export function readFormPath(given: string): string {
  const path = workspacePath(given);
  if (!/[^/]\.form$/i.test(path)) throw new Invalid('path must be that of a file whose name ends in .form');
  return path;
}
