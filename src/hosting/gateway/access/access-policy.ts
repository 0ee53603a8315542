import type { OrganizationRole, WorkspaceRole } from '../../../platform/access/index.js';
import { type HostedTarget } from '../hosts/hosted-targets.js';

/** Access modes, narrowest first. */
export const ACCESS_MODES = [
  'private',
  'workspace',
  'org',
  'restricted',
  'link',
  'password',
  'public',
] as const;
export type AccessMode = (typeof ACCESS_MODES)[number];

/** Widest access that an organization allows; `link` includes passwords. */
export const EXPOSURE_LIMITS = ['org', 'restricted', 'link', 'public'] as const;
export type ExposureLimit = (typeof EXPOSURE_LIMITS)[number];

export const IDENTITIES = ['none', 'id', 'profile'] as const;
export type Identity = (typeof IDENTITIES)[number];

export interface PublicPreview {
  readonly title: string;
  readonly description: string | null;
}

/** Access settings of a site or server, with the limits that apply. */
export interface AccessPolicy {
  readonly mode: AccessMode;
  readonly emails: readonly string[];
  readonly password_hash: string | null;
  readonly link_hash: string | null;
  readonly sealed_link: string | null;
  readonly identity: Identity;
  readonly allowed_origins: readonly string[];
  readonly public_preview: PublicPreview | null;
  readonly versions: 'workspace' | 'same';
  /** Visits of another policy version do not count. */
  readonly policy_version: string;
  readonly max_exposure: ExposureLimit;
  readonly sharing_off: boolean;
}

export interface Onlooker {
  readonly user_id: string;
  /** Role in the workspace; null for outsiders. */
  readonly role: WorkspaceRole | null;
  readonly organization_role: OrganizationRole | null;
  readonly email: string;
  readonly email_verified: boolean;
}

const RANK: Record<AccessMode | ExposureLimit, number> = {
  private: 0,
  workspace: 1,
  org: 2,
  restricted: 3,
  link: 4,
  password: 4,
  public: 5,
};

export const exceeds = (mode: AccessMode, limit: ExposureLimit): boolean => RANK[mode] > RANK[limit];

export const isOutward = (mode: AccessMode): boolean => exceeds(mode, 'org');

/** The mode in effect, for one version or the live one. A mode that is no longer allowed counts as `workspace`. */
export function effectiveMode(policy: AccessPolicy, version: number | undefined): AccessMode {
  const { mode, max_exposure, sharing_off, versions } = policy;
  const isSuspended = exceeds(mode, max_exposure) || (sharing_off && isOutward(mode));
  const held = isSuspended ? 'workspace' : mode;
  const isNarrowed = version !== undefined && versions === 'workspace' && held !== 'private';
  return isNarrowed ? 'workspace' : held;
}

/** Whether a signed-in person may open the target. Members may unless it is private. */
export function mayOpen(
  { emails }: AccessPolicy,
  mode: AccessMode,
  { createdBy }: Pick<HostedTarget, 'createdBy'>,
  who: Onlooker,
): boolean {
  if (mode === 'private') return who.role !== null && who.user_id === createdBy;
  if (who.role !== null || mode === 'public') return true;
  if (mode === 'org') return who.organization_role !== null && who.organization_role !== 'guest';
  return mode === 'restricted' && who.email_verified && emails.includes(who.email);
}
