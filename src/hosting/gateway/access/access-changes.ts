import { Injectable } from '@nestjs/common';
import { hashPassword } from '../../../identity/accounts/index.js';
import { OrganizationsStore } from '../../../identity/organizations/index.js';
import { type Actor, hashSecret, randomSecret } from '../../../platform/access/index.js';
import { Audit } from '../../../platform/audit/index.js';
import { Database } from '../../../platform/database/index.js';
import { Conflict, Forbidden, Invalid, problemOf } from '../../../platform/errors/index.js';
import { type Seal, Vault } from '../../../platform/vault/index.js';
import { auditTarget, HOSTED } from '../hosts/hosted-kinds.js';
import { type HostedTarget, HostedTargets } from '../hosts/hosted-targets.js';
import { type HostedKind } from '../hosts/hosting-domain.js';
import type { AccessInput } from './access.dto.js';
import { AccessPolicies } from './access-policies.js';
import { type AccessPolicy, exceeds, isOutward } from './access-policy.js';
import { AccessPolicyStore, type AccessSettings } from './access-policy.store.js';

const EMAIL = /^[^\s@,;<>"]{1,64}@[^\s@,;<>"]{1,253}$/;

@Injectable()
export class AccessChanges {
  private readonly links: Seal;

  constructor(
    private readonly database: Database,
    private readonly targets: HostedTargets,
    private readonly organizations: OrganizationsStore,
    private readonly policies: AccessPolicies,
    private readonly store: AccessPolicyStore,
    private readonly audit: Audit,
    vault: Vault,
  ) {
    this.links = vault.seal('hosted links');
  }

  /** Throws Conflict (409) if the mode exceeds the limit of the organization. */
  async open(actor: Actor, kind: HostedKind, id: string, input: AccessInput): Promise<HostedTarget> {
    const target = await this.targets.require(actor, HOSTED[kind].open, kind, id);
    await this.change(actor, target, input);
    return target;
  }

  /** Leaves access to members of the workspace. */
  async close(actor: Actor, kind: HostedKind, id: string): Promise<void> {
    const target = await this.requireMayClose(actor, kind, id);
    const nothing = { emails: [], allowed_origins: [], public_preview: null };
    await this.change(actor, target, { mode: 'workspace', ...nothing });
  }

  /** Organization admins may close sites and servers that they cannot see. */
  private async requireMayClose(actor: Actor, kind: HostedKind, id: string): Promise<HostedTarget> {
    const target = await this.targets.find(kind, id);
    try {
      return await this.targets.require(actor, HOSTED[kind].manage, kind, id);
    } catch (error) {
      if (!target || !problemOf(error)) throw error;
      const answers = this.organizations.require(actor, 'exposure.manage', target.organizationId);
      await answers.catch(() => Promise.reject(error));
      return target;
    }
  }

  private async change(actor: Actor, target: HostedTarget, input: AccessInput): Promise<void> {
    // Hashing takes a while: not within a transaction.
    const password_hash = input.password === undefined ? undefined : await hashPassword(input.password);
    await this.database.transaction(async unit => {
      const policy = await this.store.find(target, unit, { locked: true });
      requireAllowed(policy, input);
      const settings = this.merge(target, policy, input, password_hash);
      await this.store.set(unit, target, settings, actor.id);
      const { emails, identity, allowed_origins, versions } = settings;
      const details = {
        mode: input.mode,
        before: policy.mode,
        emails,
        identity,
        allowed_origins,
        versions,
        password_changed: password_hash !== undefined,
        link_changed: settings.link_hash !== policy.link_hash,
      };
      await this.audit.record(unit, actor, `${target.kind}_access.set`, auditTarget(target), details);
      await this.policies.changed(unit, target.id);
    });
  }

  private merge(
    { kind, id }: HostedTarget,
    policy: AccessPolicy,
    input: AccessInput,
    newPassword: string | undefined,
  ): AccessSettings {
    const { mode, identity = policy.identity, versions = policy.versions } = input;
    const emails = input.emails === undefined ? policy.emails : parseEmails(input.emails);
    if (mode === 'restricted' && emails.length === 0)
      throw new Invalid('emails must name who may open it, with the mode restricted');
    const password_hash = mode === 'password' ? (newPassword ?? policy.password_hash) : null;
    if (mode === 'password' && password_hash === null)
      throw new Invalid('password must be given with the mode password');
    const { title, description = null } = input.public_preview ?? {};
    const preview = title === undefined ? null : { title, description };
    return {
      mode,
      identity,
      versions,
      emails,
      password_hash,
      ...this.linkSettings(`${kind} ${id}`, policy, input),
      allowed_origins:
        input.allowed_origins === undefined ? policy.allowed_origins : parseOrigins(input.allowed_origins),
      public_preview: input.public_preview === undefined ? policy.public_preview : preview,
    };
  }

  private linkSettings(
    context: string,
    { link_hash, sealed_link }: AccessPolicy,
    { mode, rotate_link }: Pick<AccessInput, 'mode' | 'rotate_link'>,
  ): Pick<AccessSettings, 'link_hash' | 'sealed_link'> {
    if (mode !== 'link') return { link_hash: null, sealed_link: null };
    if (link_hash && !rotate_link) return { link_hash, sealed_link };
    const secret = randomSecret();
    return {
      link_hash: hashSecret(secret),
      sealed_link: this.links.close(secret, context).toString('base64url'),
    };
  }
}

function requireAllowed(
  { max_exposure, sharing_off }: AccessPolicy,
  { mode }: Pick<AccessInput, 'mode'>,
): void {
  if (exceeds(mode, max_exposure))
    throw new Conflict(
      `The organization opens things to ${max_exposure} at most, and ${mode} is more; its admins can change that`,
    );
  if (sharing_off && isOutward(mode))
    throw new Forbidden(
      'The feature sharing is turned off in this workspace; an admin of the workspace can turn it on',
    );
}

function parseEmails(emails: readonly string[]): string[] {
  const addresses = emails.map(email => email.trim().toLowerCase());
  const wrong = addresses.find(address => !EMAIL.test(address));
  if (wrong !== undefined)
    throw new Invalid(`emails must hold e-mail addresses; "${wrong.slice(0, 80)}" is none`);
  return [...new Set(addresses)];
}

function parseOrigins(origins: readonly string[]): string[] {
  return origins.map(origin => {
    const parsed = URL.parse(origin);
    if (!parsed || !/^https?:$/.test(parsed.protocol) || parsed.href !== `${parsed.origin}/`)
      throw new Invalid('allowed_origins must hold origins such as https://app.example.com');
    return parsed.origin;
  });
}
