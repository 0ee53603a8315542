import { Injectable, type Type } from '@nestjs/common';
import type { Actor } from '../../../platform/access/index.js';
import { Action } from '../../../platform/actions/index.js';
import { ById, DeletedView } from '../../../platform/dto/index.js';
import { HOSTED, type HostedInput, hostedId } from '../hosts/hosted-kinds.js';
import { HostedTargets } from '../hosts/hosted-targets.js';
import { type HostedKind } from '../hosts/hosting-domain.js';
import {
  type AccessInput,
  type AccessView,
  ServerAccessView,
  SetServerAccess,
  SetSiteAccess,
  SiteAccessView,
} from './access.dto.js';
import { AccessChanges } from './access-changes.js';
import { AccessViews } from './access-views.js';

interface Shapes {
  readonly Id: Type<HostedInput>;
  readonly SetAccess: Type<HostedInput & AccessInput>;
  readonly View: Type<HostedInput & AccessView>;
}

/** Access to sites, or to servers, as set by their editors. */
function accessService(kind: HostedKind, { Id, SetAccess, View }: Shapes) {
  const { field, accessPath, read, manage, open } = HOSTED[kind];

  @Injectable()
  class AccessService {
    constructor(
      private readonly targets: HostedTargets,
      private readonly changes: AccessChanges,
      private readonly views: AccessViews,
    ) {}

    @Action(`${kind}_access_get`, `GET ${accessPath}`, {
      on: field,
      summary: `Read who may open a ${kind}`,
      effect: 'read',
      permission: read,
      input: Id,
      output: View,
    })
    async read(actor: Actor, input: HostedInput): Promise<HostedInput & AccessView> {
      const target = await this.targets.require(actor, read, kind, hostedId(input));
      return { ...input, ...(await this.views.view(actor, target)) };
    }

    @Action(`${kind}_access_set`, `PUT ${accessPath}`, {
      on: field,
      summary: `Set who may open a ${kind}; everybody who has it open is checked anew`,
      effect: 'expose',
      consequence: `Whoever the mode lets in can then open the ${kind}; with link, password and public, without an account.`,
      permission: open,
      input: SetAccess,
      output: View,
      refuses: { 409: 'The organization does not allow as much' },
    })
    async set(actor: Actor, input: HostedInput & AccessInput): Promise<HostedInput & AccessView> {
      const id = hostedId(input);
      const target = await this.changes.open(actor, kind, id, input);
      return { ...named(kind, id), ...(await this.views.view(actor, target)) };
    }

    @Action(`${kind}_access_clear`, `DELETE ${accessPath}`, {
      on: field,
      summary: `Close a ${kind} to all but the members of its workspace. Organization admins may close any`,
      effect: 'destructive',
      consequence: 'Its link and password never work again, and visitors from outside are out at once.',
      permission: manage,
      input: Id,
      output: DeletedView,
    })
    async clear(actor: Actor, input: HostedInput): Promise<DeletedView> {
      const id = hostedId(input);
      await this.changes.close(actor, kind, id);
      return DeletedView.of(id);
    }
  }
  return AccessService;
}

const named = (kind: HostedKind, id: string): HostedInput =>
  kind === 'site' ? { site_id: id } : { server_id: id };

export const SiteAccessService = accessService('site', {
  Id: ById({ site_id: 'The site' }),
  SetAccess: SetSiteAccess,
  View: SiteAccessView,
});
export const ServerAccessService = accessService('server', {
  Id: ById({ server_id: 'The server' }),
  SetAccess: SetServerAccess,
  View: ServerAccessView,
});
