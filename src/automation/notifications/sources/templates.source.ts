import { Injectable, OnModuleInit } from '@nestjs/common';
import { shortName } from '#libs/plain-text/index.js';
import { templateBlocked, templateFailed, templatePublished } from '../../../workspaces/templates/index.js';
import { type Notice, Notifier } from '../delivery/index.js';
import { SourcesStore } from './sources.store.js';

const MAX_REASON = 500;

type Version = NonNullable<Awaited<ReturnType<SourcesStore['templateVersion']>>>;

/** What becomes of publications of templates. Who asked for one is notified. */
@Injectable()
export class TemplatesSource implements OnModuleInit {
  constructor(
    private readonly notifier: Notifier,
    private readonly store: SourcesStore,
  ) {}

  onModuleInit(): void {
    this.notifier.on(templatePublished, 'template.published', async ({ version_id }) => {
      const version = await this.store.templateVersion(version_id);
      if (!version) return undefined;
      return {
        ...about(version),
        title: `Version ${version.number} of the template “${shortName(version.name)}” is published`,
        body: `It has ${version.files} files.`,
      };
    });
    this.notifier.on(templateBlocked, 'template.blocked', async ({ version_id }) => {
      const version = await this.store.templateVersion(version_id);
      if (!version) return undefined;
      return {
        ...about(version),
        title: `Version ${version.number} of the template “${shortName(version.name)}” is blocked`,
        body: 'Something in its files looks like a secret. Remove it, or acknowledge each finding, and publish again.',
      };
    });
    this.notifier.on(templateFailed, 'template.failed', async ({ operation_id }) => {
      const operation = await this.store.operation(operation_id);
      if (operation?.state !== 'error' || operation.organization_id === null) return undefined;
      return {
        audience: { people: [operation.actor_id] },
        organization_id: operation.organization_id,
        workspace_id: operation.subject_id,
        about: operation_id,
        data: { operation_id },
        chain: operation.chain ?? undefined,
        title: 'A template was not published',
        body: shortName(operation.error ?? '', MAX_REASON),
      };
    });
  }
}

const about = (version: Version): Omit<Notice, 'title' | 'body'> => ({
  audience: { people: [version.published_by] },
  organization_id: version.organization_id,
  workspace_id: version.workspace_id,
  about: version.id,
  data: { template_id: version.template_id, version_id: version.id },
  chain: version.chain ?? undefined,
});
