import { Injectable } from '@nestjs/common';
import { type Actor, scopeOf } from '../../../platform/access/index.js';
import { problemOf } from '../../../platform/errors/index.js';
import { type Seal, Vault } from '../../../platform/vault/index.js';
import { HostNames } from '../hosts/host-names.js';
import { HOSTED } from '../hosts/hosted-kinds.js';
import { type HostedTarget, HostedTargets } from '../hosts/hosted-targets.js';
import type { AccessView } from './access.dto.js';
import { type AccessPolicy, effectiveMode } from './access-policy.js';
import { AccessPolicyStore } from './access-policy.store.js';

/** Query parameter that carries the secret of a link. */
export const LINK_PARAMETER = 'atl_link';

@Injectable()
export class AccessViews {
  private readonly links: Seal;

  constructor(
    private readonly targets: HostedTargets,
    private readonly names: HostNames,
    private readonly store: AccessPolicyStore,
    vault: Vault,
  ) {
    this.links = vault.seal('hosted links');
  }

  async view(actor: Actor, target: HostedTarget): Promise<AccessView> {
    const policy = await this.store.find(target);
    const manages = await this.manages(actor, target);
    const { mode, identity, allowed_origins, public_preview, versions, max_exposure } = policy;
    return {
      mode,
      effective_mode: effectiveMode(policy, undefined),
      url: this.names.urlOf(target.kind, target.slug),
      link: manages ? this.linkOf(target, policy) : null,
      emails: manages ? [...policy.emails] : [],
      has_password: policy.password_hash !== null,
      identity,
      allowed_origins: [...allowed_origins],
      public_preview,
      versions,
      max_exposure,
    };
  }

  private linkOf({ kind, id, slug }: HostedTarget, { sealed_link }: AccessPolicy): string | null {
    const url = this.names.urlOf(kind, slug);
    if (!url || !sealed_link) return null;
    const secret = this.links.open(Buffer.from(sealed_link, 'base64url'), `${kind} ${id}`);
    return secret ? `${url}/?${LINK_PARAMETER}=${secret.toString()}` : null;
  }

  /** A link grants access, so only callers who could create one see it. */
  private async manages(actor: Actor, { kind, id }: HostedTarget): Promise<boolean> {
    const { scopes } = actor.credential;
    if (scopes && !scopes.includes(scopeOf(HOSTED[kind].open))) return false;
    try {
      await this.targets.require(actor, HOSTED[kind].open, kind, id);
      return true;
    } catch (error) {
      if (problemOf(error)) return false;
      throw error;
    }
  }
}
