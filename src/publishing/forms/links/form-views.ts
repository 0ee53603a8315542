import { Injectable, type OnModuleInit } from '@nestjs/common';
import { parentOf } from '#libs/workspace-fs/index.js';
import { type Actor, roleAllows, scopeOf } from '../../../platform/access/index.js';
import { iso, isoOrNull } from '../../../platform/database/index.js';
import {
  type ExposedView,
  type ExposureQuery,
  type ExposureSource,
  Exposures,
  LinkAccess,
  mayStill,
} from '../../exposure/index.js';
import type { FormDefinition } from '../file/index.js';
import { type AskedFormRow, type FormRow, FormsStore } from '../records/forms.store.js';
import type { FORM_STATES, FormView } from './forms.dto.js';

type FormState = (typeof FORM_STATES)[number];

/** Why a form takes no responses; `open` where it does. `responses`: those that it has. */
export function stateOf(
  form: FormRow,
  definition: Pick<FormDefinition, 'closesAt' | 'maxResponses'>,
  responses: number,
): FormState {
  const now = new Date();
  const isPast = (time: string | null) => time !== null && new Date(time) <= now;
  if (!mayStill(form, 'form.share')) return 'suspended';
  if (isPast(form.expires_at)) return 'expired';
  if (form.broken !== null) return 'broken';
  if (form.paused_at !== null) return 'paused';
  const isFull = definition.maxResponses !== null && responses >= definition.maxResponses;
  return isPast(definition.closesAt) || isFull ? 'closed' : 'open';
}

/** Where the responses of a form go: beside its file. */
export function outputOf(
  { path, csv_file }: Pick<FormRow, 'path' | 'csv_file'>,
  output: string | null,
): string {
  const name = path.slice(path.lastIndexOf('/') + 1).replace(/\.form$/i, '');
  return [parentOf(path), csv_file ?? output ?? `${name}.csv`].filter(Boolean).join('/');
}

/** Forms as their callers may see them. */
@Injectable()
export class FormViews {
  constructor(private readonly access: LinkAccess) {}

  of(actor: Actor, row: AskedFormRow): FormView {
    const { id, workspace_id, path, definition, waiting, spam } = row;
    return {
      id,
      workspace_id,
      path,
      title: definition.title,
      url: this.urlFor(actor, row),
      state: stateOf(row, definition, row.received),
      problem: row.broken,
      trouble: row.trouble,
      has_password: row.password_hash !== null,
      expires_at: isoOrNull(row.expires_at),
      output: outputOf(row, definition.output),
      responses: row.received,
      waiting,
      spam,
      created_by: row.created_by,
      created_at: iso(row.created_at),
      updated_at: iso(row.updated_at),
    };
  }

  private urlFor({ credential: { scopes } }: Actor, row: AskedFormRow): string | null {
    const isInScope = scopes === null || scopes.includes(scopeOf('form.share'));
    const may = row.role !== null && roleAllows(row.role, 'form.share') && isInScope;
    return may ? this.access.urlOf(row, 'f') : null;
  }
}

/** Forms, among all that is reachable from outside. */
@Injectable()
export class ExposedForms implements ExposureSource, OnModuleInit {
  constructor(
    private readonly forms: FormsStore,
    private readonly views: FormViews,
    private readonly exposures: Exposures,
  ) {}

  onModuleInit(): void {
    this.exposures.add(this);
  }

  async listExposed(actor: Actor, query: ExposureQuery): Promise<ExposedView[]> {
    const rows = await this.forms.listOfOrganization(actor, query);
    return rows.map(row => this.exposed(actor, row));
  }

  private exposed(actor: Actor, row: AskedFormRow): ExposedView {
    const { id, workspace_id, path, url, has_password, ...view } = this.views.of(actor, row);
    return {
      id,
      kind: 'form',
      name: path,
      workspace_id,
      workspace_name: row.workspace_name,
      url,
      protection: has_password ? 'password' : 'link',
      allow: 'upload',
      expires_at: view.expires_at,
      created_by: view.created_by,
      created_at: view.created_at,
      revoke_path: `/api/forms/${id}`,
    };
  }
}
