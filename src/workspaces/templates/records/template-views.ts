import { toView } from '../../../platform/dto/index.js';
import { TemplateVersionView, TemplateView } from './templates.dto.js';
import type { TemplateRow, VersionRow } from './templates.store.js';

export function templateView(row: TemplateRow): TemplateView {
  const { latest_manifest } = row;
  return toView(TemplateView, row, {
    parameters: (latest_manifest?.parameters ?? []).map(parameter => ({
      ...parameter,
      choices: [...parameter.choices],
    })),
  });
}

export function versionView(row: VersionRow, isPublisher: boolean): TemplateVersionView {
  return toView(TemplateVersionView, row, {
    bytes: Number(row.bytes),
    findings: isPublisher ? row.findings : [],
    skipped: isPublisher ? row.skipped : [],
  });
}
