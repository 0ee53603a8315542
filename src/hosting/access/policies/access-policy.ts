import type { OrganizationRole, WorkspaceRole } from '../../../platform/access/index.js';
import type { HostedTarget } from '../../hosts/index.js';

/** Who may open something, from the fewest to the most. */
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

/** What an organization allows at most; `link` includes passwords. */
export const EXPOSURE_LIMITS = ['org', 'restricted', 'link', 'public'] as const;
export type ExposureLimit = (typeof EXPOSURE_LIMITS)[number];

/** What a site or server is told of who looks at it. */
export const IDENTITIES = ['none', 'id', 'profile'] as const;
export type Identity = (typeof IDENTITIES)[number];

export interface PublicPreview {
  readonly title: string;
  readonly description: string | null;
}

/** Who may open one site or server, as it was set, and what limits that. */
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
  /** Visits of another version do not count. */
  readonly policy_version: string;
  readonly max_exposure: ExposureLimit;
  /** Whether the workspace has sharing turned off. */
  readonly sharing_off: boolean;
}

/** Somebody who is signed in, as far as it decides what they may open. */
export interface Onlooker {
  readonly user_id: string;
  /** In the workspace; null where they do not see it. */
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

/** Whether a mode opens more than the organization allows. */
export const exceeds = (mode: AccessMode, limit: ExposureLimit): boolean => RANK[mode] > RANK[limit];

/** Whether a mode lets in people from outside of the organization. */
export const isOutward = (mode: AccessMode): boolean => exceeds(mode, 'org');

/** The mode that holds, for the live version or for one by its number: what is not allowed any more is as if it were closed. */
export function modeOf(policy: AccessPolicy, version: number | undefined): AccessMode {
  const { mode, max_exposure, sharing_off, versions } = policy;
  const isSuspended = exceeds(mode, max_exposure) || (sharing_off && isOutward(mode));
  const held = isSuspended ? 'workspace' : mode;
  const isNarrowed = version !== undefined && versions === 'workspace' && held !== 'private';
  return isNarrowed ? 'workspace' : held;
}

/** Whether somebody who is signed in may open it. Members of the workspace may unless it is private. */
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
