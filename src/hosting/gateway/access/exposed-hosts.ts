import { Injectable, OnModuleInit } from '@nestjs/common';
import type { Actor } from '../../../platform/access/index.js';
import { iso } from '../../../platform/database/index.js';
import { type ExposedView, type ExposureQuery, Exposures } from '../../../publishing/exposure/index.js';
import { HostNames } from '../hosts/host-names.js';
import { HostedTargets } from '../hosts/hosted-targets.js';
import { HOSTED_KINDS, type HostedKind } from '../hosts/hosting-domain.js';
import { AccessPolicyStore, type OutwardRow } from './access-policy.store.js';

const PROTECTION = { restricted: 'sign_in', link: 'link', password: 'password', public: 'nothing' } as const;

/** Lists sites and servers that outsiders may open. */
@Injectable()
export class ExposedHosts implements OnModuleInit {
  constructor(
    private readonly exposures: Exposures,
    private readonly store: AccessPolicyStore,
    private readonly targets: HostedTargets,
    private readonly names: HostNames,
  ) {}

  onModuleInit(): void {
    for (const kind of HOSTED_KINDS)
      this.exposures.add({ listExposed: (actor, query) => this.list(actor, kind, query) });
  }

  private async list(actor: Actor, kind: HostedKind, query: ExposureQuery): Promise<ExposedView[]> {
    const rows = await this.store.listOutward(actor, kind, query);
    return (await Promise.all(rows.map(row => this.view(kind, row)))).filter(view => view !== undefined);
  }

  private async view(kind: HostedKind, row: OutwardRow): Promise<ExposedView | undefined> {
    const { target_id: id, mode, workspace_id, workspace_name } = row;
    const target = await this.targets.find(kind, id);
    if (!target || !(mode in PROTECTION)) return undefined;
    return {
      id,
      kind,
      name: target.name,
      workspace_id,
      workspace_name,
      url: this.names.urlOf(kind, target.slug),
      protection: PROTECTION[mode as keyof typeof PROTECTION],
      allow: 'view',
      expires_at: null,
      created_by: row.updated_by,
      created_at: iso(row.updated_at),
      revoke_path: `/api/${kind === 'site' ? 'site' : 'tunnel'}-access/${id}`,
    };
  }
}
