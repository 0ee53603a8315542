import { createHash } from 'node:crypto';
import { Injectable, OnApplicationBootstrap } from '@nestjs/common';
import { Config } from '../../../platform/config/index.js';
import { Database } from '../../../platform/database/index.js';
import { MANIFEST, parseManifest } from '../records/manifest.js';
import { TemplateFolders } from '../records/template-folders.js';
import { TemplatesStore } from '../records/templates.store.js';
import type { Builtin } from './builtin.js';
import { DATA_ANALYSIS } from './data-analysis.js';
import { DOCUMENTATION_SITE } from './documentation-site.js';
import { FORM_DASHBOARD } from './form-dashboard.js';
import { SUPPORT_INBOX } from './support-inbox.js';
import { WEB_APP } from './web-app.js';
import { WEEKLY_REPORT } from './weekly-report.js';

const BUILTINS: readonly Builtin[] = [
  DATA_ANALYSIS,
  DOCUMENTATION_SITE,
  WEB_APP,
  FORM_DASHBOARD,
  SUPPORT_INBOX,
  WEEKLY_REPORT,
];

/** Publishes the templates that come with the service; what has changed becomes a new version. */
@Injectable()
export class BuiltinTemplates implements OnApplicationBootstrap {
  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly templates: TemplatesStore,
    private readonly folders: TemplateFolders,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    if (this.config.runsJobs) for (const builtin of BUILTINS) await this.publish(builtin);
  }

  /** Ids follow from the contents: processes that do this at once write the same. */
  private async publish({ slug, files }: Builtin): Promise<void> {
    const template_id = idOf(`builtin/${slug}`);
    const version = { template_id, id: idOf(JSON.stringify([template_id, files])) };
    if (await this.templates.version(version.id)) return;
    const manifest = parseManifest(files[MANIFEST] ?? '');
    const contents = Object.entries(files).map(([path, text]) => ({ path, bytes: Buffer.from(text) }));
    const target = await this.folders.add(version);
    for (const { path, bytes } of contents) await target.write(path, bytes);
    await target.flush();
    const { name, description } = manifest;
    const template = { id: template_id, slug, name: name ?? slug, description: description ?? '' };
    const bytes = contents.reduce((sum, file) => sum + file.bytes.length, 0);
    await this.database.transaction(unit =>
      this.templates.addBuiltin(unit, template, {
        id: version.id,
        manifest,
        files: contents.length,
        bytes,
      }),
    );
  }
}

/** A UUID, version 8 (RFC 9562, section 5.8), of a name. */
function idOf(name: string): string {
  const hash = createHash('sha256').update(name).digest('hex');
  const variant = ((Number.parseInt(hash[16] ?? '0', 16) & 3) | 8).toString(16);
  return [
    hash.slice(0, 8),
    hash.slice(8, 12),
    `8${hash.slice(13, 16)}`,
    `${variant}${hash.slice(17, 20)}`,
    hash.slice(20, 32),
  ].join('-');
}
