import { iso } from '../../../platform/database/index.js';
import type { TemplateVersionView, TemplateView } from './templates.dto.js';
import type { TemplateRow, VersionRow } from './templates.store.js';

export function templateView(row: TemplateRow): TemplateView {
  const { id, organization_id, slug, name, description, visibility, latest, latest_manifest } = row;
  return {
    id,
    organization_id,
    slug,
    name,
    description,
    visibility,
    latest,
    parameters: (latest_manifest?.parameters ?? []).map(parameter => ({
      ...parameter,
      choices: [...parameter.choices],
    })),
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  };
}

export function versionView(row: VersionRow, isPublisher: boolean): TemplateVersionView {
  const { number, state, files, published_by } = row;
  return {
    number,
    state,
    files,
    published_by,
    bytes: Number(row.bytes),
    findings: isPublisher ? row.findings : [],
    skipped: isPublisher ? row.skipped : [],
    created_at: iso(row.created_at),
  };
}
