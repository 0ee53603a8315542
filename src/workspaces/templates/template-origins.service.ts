import { Injectable } from '@nestjs/common';
import { type Actor, requireScope } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { DEFAULT_LIMIT, decodeCursor, Page, pageOf } from '../../platform/dto/index.js';
import { NotFound } from '../../platform/errors/index.js';
import { WorkspaceId, WorkspacesStore } from '../core/index.js';
import { TemplateFolders } from './records/template-folders.js';
import {
  ListTemplateFiles,
  TemplateFilePage,
  type TemplateFileView,
  WorkspaceTemplateView,
} from './records/templates.dto.js';
import { TemplatesStore } from './records/templates.store.js';

/** What is in a version, and which version a workspace was made of. */
@Injectable()
export class TemplateOriginsService {
  constructor(
    private readonly templates: TemplatesStore,
    private readonly folders: TemplateFolders,
    private readonly workspaces: WorkspacesStore,
  ) {}

  @Action('template_file_list', 'GET /api/templates/:id/versions/:number/files', {
    summary: 'List the files of a version of a template',
    permission: 'template.read',
    input: ListTemplateFiles,
    output: TemplateFilePage,
    refuses: { 404: 'No such template or version' },
  })
  async files(actor: Actor, input: ListTemplateFiles): Promise<Page<TemplateFileView>> {
    requireScope(actor, 'template.read');
    await this.templates.require(actor, input.id);
    const versions = await this.templates.versions(input.id);
    const version = versions.find(({ number, state }) => number === input.number && state === 'published');
    if (!version) throw new NotFound(`The template has no published version ${input.number}`);
    const { limit = DEFAULT_LIMIT } = input;
    const files = this.folders.open(version);
    let [after] = decodeCursor(input.cursor, 'text');
    const found: TemplateFileView[] = [];
    // Folders are listed among the files.
    while (found.length <= limit) {
      const { entries, next } = await files.list('', { recursive: true, limit: limit + 1, after });
      for (const { path, size, type } of entries) if (type === 'file') found.push({ path, size });
      if (next === null) break;
      after = next;
    }
    return pageOf(
      found.slice(0, limit + 1),
      limit,
      file => file,
      ({ path }) => [path],
    );
  }

  @Action('workspace_template_get', 'GET /api/workspaces/:workspaceId/template', {
    summary: 'Read which version of which template a workspace was made of, and whether there is a newer one',
    permission: 'workspace.read',
    input: WorkspaceId,
    output: WorkspaceTemplateView,
  })
  async originOf(actor: Actor, { workspace_id }: WorkspaceId): Promise<WorkspaceTemplateView> {
    await this.workspaces.require(actor, 'workspace.read', workspace_id);
    const origin = await this.templates.originOf(workspace_id);
    if (!origin) return { template_id: null, name: null, version: null, latest: null, has_newer: false };
    const { template_id, version } = origin;
    const template = await this.templates.find(actor, template_id);
    const latest = template?.latest ?? null;
    const has_newer = latest !== null && latest > version;
    return { template_id, version, name: template?.name ?? null, latest, has_newer };
  }
}
