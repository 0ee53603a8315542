import {
  type Actor,
  type Feature,
  type OrganizationRole,
  requireInWorkspace,
  roleAllows,
  scopeOf,
  type WorkspacePermission,
  type WorkspaceRole,
} from '../../platform/access/index.js';
import { Gone, Invalid, NotFound } from '../../platform/errors/index.js';
import type { LinkPrefix } from './share-origin.js';

/** What an exposed URL lets its visitors do, and what the person who exposed it must still be allowed to do. */
export const ALLOWANCES = {
  view: { needs: 'file.read', saves: false },
  download: { needs: 'file.read', saves: true },
  upload: { needs: 'file.write', saves: false },
} as const satisfies Record<string, { needs: WorkspacePermission; saves: boolean }>;
export type Allowance = keyof typeof ALLOWANCES;

/** What decides whether a way in still stands: its workspace, and the role there of the person who gave it. */
export interface GiverStanding {
  readonly features_off: Feature[];
  readonly giver_role: WorkspaceRole | null;
}

interface Place {
  readonly id: string;
  readonly workspace_id: string;
  readonly organization_id: string;
}

/** A link that opens a path of a workspace to whoever holds it, with a password or without. */
export interface LinkRow extends Place, GiverStanding {
  readonly path: string;
  readonly workspace_number: number;
  readonly workspace_name: string;
  readonly token_hash: string;
  readonly sealed_token: string;
  readonly password_hash: string | null;
  readonly expires_at: string | null;
  readonly created_by: string;
  readonly created_at: string;
  readonly updated_at: string;
}

/** The person who asks for a link. */
export interface Asker {
  readonly organization_role: OrganizationRole;
  /** null where they do not see the workspace. */
  readonly role: WorkspaceRole | null;
}

/** What differs from one kind of public link to another. */
interface Kind<Row> {
  /** In the audit log, and among what is exposed. */
  readonly name: string;
  /** For messages to members. */
  readonly noun: string;
  /** What its giver must still be allowed. */
  readonly needs: (row: Row) => WorkspacePermission;
}

/** A kind of public link: whether it still stands, and who may do what to it. */
export class PublicLink<Row extends GiverStanding> {
  constructor(private readonly own: Kind<Row>) {}

  get name(): string {
    return this.own.name;
  }

  missing(): NotFound {
    return new NotFound(`No such ${this.own.noun}`);
  }

  needs(row: Row): WorkspacePermission {
    return this.own.needs(row);
  }

  /** Whether the giver could still do what they let others do, and sharing is not turned off. */
  stands(row: Row): boolean {
    const { features_off, giver_role } = row;
    if (features_off.includes('sharing')) return false;
    return giver_role !== null && roleAllows(giver_role, this.needs(row));
  }

  /** 404 where the caller does not see the workspace, 403 where their role or key is too low. */
  requireRole(actor: Actor, row: Row & Asker, permission: WorkspacePermission): void {
    const { role, features_off } = row;
    if (!role) throw this.missing();
    requireInWorkspace(actor, permission, { role, features_off });
  }

  target({ id, organization_id, workspace_id }: Place) {
    return { type: this.name, id, organization_id, workspace_id };
  }
}

/** What visitors see of a kind of link. */
interface Visited {
  /** The first part of its addresses. */
  readonly prefix: LinkPrefix;
  /** What they read that it is. */
  readonly noun: string;
  /** The heading where a request failed. */
  readonly failure: string;
}

/** A kind of public link that whoever holds it can open. */
export class OpenLink<Row extends LinkRow> extends PublicLink<Row> {
  constructor(
    kind: Kind<Row>,
    /** What one has to be allowed to give such a link out, and to end it. */
    readonly permissions: { readonly give: WorkspacePermission; readonly end: WorkspacePermission },
    readonly visited: Visited,
  ) {
    super(kind);
  }

  /** 404 for none and for one that is suspended, 410 for one that has expired. */
  requireActive(row: Row | undefined): Row {
    const { noun } = this.visited;
    if (!row || !this.stands(row)) throw new NotFound(`No such ${noun}`);
    if (isPast(row.expires_at)) throw new Gone(`This ${noun} has expired`);
    return row;
  }

  /** A link is as good as what it opens: its address is for those who could give it out and go through it themselves. */
  isShownTo({ credential: { scopes } }: Actor, row: Row & Asker): boolean {
    const { role } = row;
    return [this.permissions.give, this.needs(row)].every(
      permission =>
        role !== null &&
        roleAllows(role, permission) &&
        (scopes === null || scopes.includes(scopeOf(permission))),
    );
  }
}

export const isPast = (time: string | null): boolean => time !== null && new Date(time) <= new Date();

/** 422 for an end in the past. */
export function readEnd(time: string | null | undefined): string | null {
  if (!time) return null;
  const date = new Date(time);
  if (date <= new Date()) throw new Invalid('expires_at must lie in the future');
  return date.toISOString();
}
