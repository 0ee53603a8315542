import { Injectable, OnModuleInit } from '@nestjs/common';
import type { Actor } from '../../../platform/access/index.js';
import { iso } from '../../../platform/database/index.js';
import {
  type ExposedView,
  type ExposureQuery,
  type ExposureSource,
  Exposures,
} from '../../../publishing/exposure/index.js';
import { HooksStore, type OpenHook } from './hooks.store.js';

/** Webhooks of automations, among all that is reachable from outside. */
@Injectable()
export class ExposedWebhooks implements ExposureSource, OnModuleInit {
  constructor(
    private readonly exposures: Exposures,
    private readonly hooks: HooksStore,
  ) {}

  onModuleInit(): void {
    this.exposures.add(this);
  }

  async listExposed(actor: Actor, query: ExposureQuery): Promise<ExposedView[]> {
    return (await this.hooks.listOpen(actor, query)).map(viewOf);
  }
}

/** Its address is shown once, when it is made. */
const viewOf = (hook: OpenHook): ExposedView => ({
  id: hook.id,
  kind: 'webhook',
  name: hook.file_path,
  url: null,
  workspace_id: hook.workspace_id,
  workspace_name: hook.workspace_name,
  protection: hook.verify === 'token' ? 'link' : 'password',
  allow: 'use',
  expires_at: null,
  created_by: hook.created_by,
  created_at: iso(hook.created_at),
  revoke_path: `/api/automation/webhooks/${hook.id}`,
});
