import { Injectable, type OnModuleInit } from '@nestjs/common';
import { parentOf } from '#libs/workspace-fs/index.js';
import type { Actor } from '../../../platform/access/index.js';
import { iso, isoOrNull } from '../../../platform/database/index.js';
import {
  type ExposedView,
  type ExposureQuery,
  type ExposureSource,
  Exposures,
  isPast,
  LinkAccess,
} from '../../exposure/index.js';
import type { FormDefinition } from '../file/form-definition.js';
import { type AskedFormRow, FORM_LINK, type FormRow, FormsStore } from '../records/forms.store.js';
import type { FORM_STATES, FormView } from './forms.dto.js';

type FormState = (typeof FORM_STATES)[number];

/** Why a form takes no responses; `open` where it does. `responses`: those that it has. */
export function deriveState(
  form: FormRow,
  definition: Pick<FormDefinition, 'closesAt' | 'maxResponses'>,
  responses: number,
): FormState {
  if (!FORM_LINK.stands(form)) return 'suspended';
  if (isPast(form.expires_at)) return 'expired';
  if (form.broken !== null) return 'broken';
  if (form.paused_at !== null) return 'paused';
  const isFull = definition.maxResponses !== null && responses >= definition.maxResponses;
  return isPast(definition.closesAt) || isFull ? 'closed' : 'open';
}

/** Where the responses of a form go: beside its file. */
export function outputPath(
  { path, csv_file }: Pick<FormRow, 'path' | 'csv_file'>,
  output: string | null,
): string {
  const name = path.slice(path.lastIndexOf('/') + 1).replace(/\.form$/i, '');
  return [parentOf(path), csv_file ?? output ?? `${name}.csv`].filter(Boolean).join('/');
}

/** Forms as their callers may see them, also among all that is reachable from outside. */
@Injectable()
export class FormViews implements ExposureSource, OnModuleInit {
  constructor(
    private readonly forms: FormsStore,
    private readonly access: LinkAccess,
    private readonly exposures: Exposures,
  ) {}

  onModuleInit(): void {
    this.exposures.add(this);
  }

  toView(actor: Actor, row: AskedFormRow): FormView {
    const { id, workspace_id, path, definition, waiting, spam } = row;
    return {
      id,
      workspace_id,
      path,
      title: definition.title,
      url: this.access.urlFor(actor, FORM_LINK, row),
      state: deriveState(row, definition, row.received),
      problem: row.broken,
      trouble: row.trouble,
      has_password: row.password_hash !== null,
      expires_at: isoOrNull(row.expires_at),
      output: outputPath(row, definition.output),
      responses: row.received,
      waiting,
      spam,
      created_by: row.created_by,
      created_at: iso(row.created_at),
      updated_at: iso(row.updated_at),
    };
  }

  async listExposed(actor: Actor, query: ExposureQuery): Promise<ExposedView[]> {
    const rows = await this.forms.listOfOrganization(actor, query);
    return rows.map(row =>
      this.access.exposedView(actor, FORM_LINK, row, {
        allow: 'upload',
        revoke_path: `/api/forms/${row.id}`,
      }),
    );
  }
}
