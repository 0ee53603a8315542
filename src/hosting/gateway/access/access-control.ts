import { Injectable } from '@nestjs/common';
import { passwordMatches } from '../../../identity/accounts/index.js';
import { LoginProtection } from '../../../identity/auth/index.js';
import {
  accessTopic,
  credentialTopic,
  hashSecret,
  type WorkspaceRole,
  workspaceAccessTopic,
} from '../../../platform/access/index.js';
import { type Topic, Topics } from '../../../platform/topics/index.js';
import { type HostedHost } from '../hosts/host-table.js';
import { AccessPolicies, hostedAccessTopic } from './access-policies.js';
import { type AccessMode, type AccessPolicy, effectiveMode, mayOpen } from './access-policy.js';
import { AccessTokens, shownToken } from './access-tokens.js';
import { type Asked, cookieCounts } from './fetch-site.js';
import { Visits } from './visits.js';
import type { VisitRow } from './visits.store.js';

export interface Viewer {
  readonly userId: string;
  readonly name: string;
  readonly email: string;
  /** Role in the workspace; null for outsiders. */
  readonly role: WorkspaceRole | null;
  /** Session that the visit depends on. */
  readonly sessionId: string | null;
}

export interface Admitted {
  /** Absent for visitors without an account, and programs. */
  readonly viewer?: Viewer;
  /** Absent for requests without a visit. */
  readonly visitId?: string;
  /** Answers are the same for all visitors, so caches may share them. */
  readonly isPublic: boolean;
}

/** Why a request was refused, and how its sender could get in. */
export interface Refusal {
  /** `not_allowed`: signed in without access; `bad_token`: the token of a program is not valid here. */
  readonly why: 'sign_in' | 'password' | 'link' | 'not_allowed' | 'bad_token';
  readonly policy: AccessPolicy;
  readonly email?: string;
}

export type Admission = { readonly admitted: Admitted } | { readonly refused: Refusal };

const OPEN: Admission = { admitted: { isPublic: true } };

/** Interval at which open exchanges are checked even if no topic was published. */
const RECHECK_MS = 30_000;

@Injectable()
export class AccessControl {
  constructor(
    private readonly policies: AccessPolicies,
    private readonly visits: Visits,
    private readonly tokens: AccessTokens,
    private readonly protection: LoginProtection,
    private readonly topics: Topics,
  ) {}

  /** Synchronous if everything but visits is cached. With `wantsViewer`, the viewer is looked up for public sites, too. */
  admit(host: HostedHost, request: Asked, { wantsViewer = false } = {}): Admission | Promise<Admission> {
    const policy = this.policies.find(host.target);
    const decide = (known: AccessPolicy) => this.decide(host, request, wantsViewer, known);
    return policy instanceof Promise ? policy.then(decide) : decide(policy);
  }

  private decide(
    host: HostedHost,
    request: Asked,
    wantsViewer: boolean,
    policy: AccessPolicy,
  ): Admission | Promise<Admission> {
    const isPublic = effectiveMode(policy, host.version) === 'public';
    if (isPublic && !wantsViewer) return OPEN;
    const token = shownToken(request.headers);
    if (token === undefined) return this.decideByVisits(host, request, policy);
    const decide = (opens: boolean): Admission =>
      opens ? { admitted: { isPublic } } : { refused: { why: 'bad_token', policy } };
    const opens = this.tokens.opens(token, host.target);
    return opens instanceof Promise ? opens.then(decide) : decide(opens);
  }

  private async decideByVisits(host: HostedHost, request: Asked, policy: AccessPolicy): Promise<Admission> {
    const mode = effectiveMode(policy, host.version);
    const isPublic = mode === 'public';
    const visits = cookieCounts(request, host.origin, policy.allowed_origins)
      ? await this.visits.find(request, host.target)
      : [];
    const visit = visits.find(each => this.holds(each, host, policy, mode));
    if (visit) return { admitted: { isPublic, visitId: visit.id, ...toViewer(visit) } };
    if (isPublic) return { admitted: { isPublic } };
    const signedIn = visits.find(({ visitor }) => visitor !== null)?.visitor;
    if (signedIn) return { refused: { why: 'not_allowed', policy, email: signedIn.email } };
    const why = mode === 'password' || mode === 'link' ? mode : 'sign_in';
    return { refused: { why, policy } };
  }

  /** Returns the cookie of a new visit if the secret matches. */
  async openByLink({ target, version }: HostedHost, secret: string): Promise<string | undefined> {
    const policy = await this.policies.find(target);
    if (effectiveMode(policy, version) !== 'link' || policy.link_hash !== hashSecret(secret))
      return undefined;
    return this.visits.begin(target, { how: 'link', policyVersion: policy.policy_version });
  }

  /**
   * Returns the cookie of a new visit if the password matches. Failures count per address in all processes; throws
   * TooManyRequests.
   */
  async openByPassword(
    { target, version }: HostedHost,
    password: string,
    address: string,
  ): Promise<string | undefined> {
    const policy = await this.policies.find(target);
    const { password_hash, policy_version: policyVersion } = policy;
    if (effectiveMode(policy, version) !== 'password' || password_hash === null) return undefined;
    const isRight = await this.protection.attempt(`${target.kind} ${target.id}`, address, async () =>
      (await passwordMatches(password_hash, password)) ? true : undefined,
    );
    return isRight && this.visits.begin(target, { how: 'password', policyVersion });
  }

  /** Calls `onEnd` when `request` would no longer be admitted. Returns a function that ends the watch. */
  watch(host: HostedHost, request: Asked, { viewer }: Admitted, onEnd: () => void): () => void {
    let isOver = false;
    const stops: (() => void)[] = [];
    const stop = () => {
      isOver = true;
      for (const each of stops) each();
    };
    const look = async () => {
      const admission = await Promise.resolve(this.admit(host, request)).catch(() => undefined);
      // While the database is away, what is open stays open.
      if (isOver || !admission || 'admitted' in admission) return;
      stop();
      onEnd();
    };
    const { id, workspaceId, organizationId } = host.target;
    const topics: Topic[] = [
      hostedAccessTopic(id),
      hostedAccessTopic(organizationId),
      workspaceAccessTopic(workspaceId),
      ...(viewer ? [accessTopic(viewer.userId)] : []),
      ...(viewer?.sessionId ? [credentialTopic(viewer.sessionId)] : []),
    ];
    stops.push(...topics.map(topic => this.topics.subscribe(topic, () => void look())));
    const timer = setInterval(() => void look(), RECHECK_MS).unref();
    stops.push(() => clearInterval(timer));
    // It may have changed since the request was admitted.
    void look();
    return stop;
  }

  private holds(visit: VisitRow, { target }: HostedHost, policy: AccessPolicy, mode: AccessMode): boolean {
    if (visit.policy_version !== policy.policy_version) return false;
    return visit.visitor ? mayOpen(policy, mode, target, visit.visitor) : visit.how === mode;
  }
}

function toViewer({ visitor, session_id: sessionId }: VisitRow): Pick<Admitted, 'viewer'> {
  if (!visitor) return {};
  const { user_id: userId, name, email, role } = visitor;
  return { viewer: { userId, name, email, role, sessionId } };
}
