import { Injectable, OnModuleInit } from '@nestjs/common';
import type { Actor } from '../../platform/access/index.js';
import { iso } from '../../platform/database/index.js';
import {
  type ExposedView,
  type ExposureQuery,
  type ExposureSource,
  Exposures,
} from '../../publishing/exposure/index.js';
import { type HostedKind, HostedTargets, HostNames } from '../hosts/index.js';
import { AccessPolicyStore, type OutwardRow } from './policies/access-policy.store.js';

const PROTECTION = { restricted: 'sign_in', link: 'link', password: 'password', public: 'nothing' } as const;

/** Lists sites, or servers, that outsiders may open. */
@Injectable()
abstract class ExposedOfKind implements ExposureSource, OnModuleInit {
  protected abstract readonly kind: HostedKind;

  constructor(
    private readonly exposures: Exposures,
    private readonly store: AccessPolicyStore,
    private readonly targets: HostedTargets,
    private readonly names: HostNames,
  ) {}

  onModuleInit(): void {
    this.exposures.add(this);
  }

  async listExposed(actor: Actor, query: ExposureQuery): Promise<ExposedView[]> {
    const rows = await this.store.listOutward(actor, this.kind, query);
    return (await Promise.all(rows.map(row => this.view(row)))).filter(view => view !== undefined);
  }

  private async view(row: OutwardRow): Promise<ExposedView | undefined> {
    const { target_id: id, mode, workspace_id, workspace_name } = row;
    const target = await this.targets.find(this.kind, id);
    if (!target || !(mode in PROTECTION)) return undefined;
    return {
      id,
      kind: this.kind,
      name: target.name,
      workspace_id,
      workspace_name,
      url: this.names.urlOf(this.kind, target.slug),
      protection: PROTECTION[mode as keyof typeof PROTECTION],
      allow: 'view',
      expires_at: null,
      created_by: row.updated_by,
      created_at: iso(row.updated_at),
      revoke_path: `/api/${this.kind === 'site' ? 'site' : 'tunnel'}-access/${id}`,
    };
  }
}

@Injectable()
export class ExposedSites extends ExposedOfKind {
  protected readonly kind = 'site';
}

@Injectable()
export class ExposedServers extends ExposedOfKind {
  protected readonly kind = 'server';
}
