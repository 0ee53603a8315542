import { Injectable } from '@nestjs/common';
import type { CredentialRule, CredentialUse } from '#libs/egress-proxy/index.js';
import type { Actor } from '../../platform/access/index.js';
import { defineTopic } from '../../platform/topics/index.js';

/** Whose sandbox it is. */
export interface SandboxUser {
  readonly workspaceId: string;
  readonly caller: { readonly kind: string; readonly id: string | null };
  /** On whose authority; absent: none, and so no credentials. */
  readonly actor?: Actor | undefined;
}

/** A rule for the proxy of one sandbox. */
export interface SandboxCredential extends CredentialRule {
  readonly connectionId: string | null;
  /** Variables that programs want before they ask at all; their values are placeholders. */
  readonly variables: readonly string[];
  /** Called once a request has got it. */
  readonly used: (use: CredentialUse) => void;
}

/** Says which credentials the requests of a sandbox get. */
export interface CredentialSource {
  rulesFor(user: SandboxUser): Promise<readonly SandboxCredential[]>;
  /** The sandbox is gone; `user` is the same object that its rules were asked for. */
  ended?(user: SandboxUser): Promise<void>;
}

/** Published when a source has other rules for a workspace. */
export const credentialsTopic = defineTopic('credentials');

/** The port by which higher rooms put credentials into requests of sandboxes. No sandbox ever has one. */
@Injectable()
export class CredentialRules {
  private readonly sources: CredentialSource[] = [];

  /** While modules start. */
  register(source: CredentialSource): void {
    this.sources.push(source);
  }

  async rulesFor(user: SandboxUser): Promise<SandboxCredential[]> {
    return (await Promise.all(this.sources.map(source => source.rulesFor(user)))).flat();
  }

  async ended(user: SandboxUser): Promise<void> {
    await Promise.all(this.sources.map(source => source.ended?.(user)));
  }
}
