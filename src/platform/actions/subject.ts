import { Injectable, OnModuleInit } from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { validate as isUuid } from 'uuid';
import { fieldsOf } from '#libs/fields/index.js';
import { type Actor, type Permission, POLICY, requireScope } from '../access/index.js';
import { providerMethods } from '../discovery/index.js';
import { problemOf } from '../errors/index.js';
import { type ActionDeclaration, declarationOf, subjectsOf } from './action.js';

/** The organization and workspace that an action is about, as far as they are known. */
export interface Tenant {
  readonly organization_id: string | null;
  readonly workspace_id: string | null;
}

type Policy = 'organization' | 'workspace';
type Require<Found> = (actor: Actor, permission: never, id: string, ...rest: never[]) => Promise<Found>;

interface SubjectMark {
  readonly noun: string;
  readonly policy: Policy;
  readonly tenantOf: (found: never) => Tenant;
}

const SUBJECT = Symbol('subject');

/**
 * Marks the store method that answers "may this caller do that to this thing", `(actor, permission, id)`, as the one to
 * ask about inputs that name such a thing, see `on` of an action. `policy` says which permissions there are on it.
 */
export function Subject<Found>(noun: string, policy: Policy, tenantOf: (found: Found) => Tenant) {
  return (_target: object, _key: string, descriptor: { value?: Require<Found> }): void => {
    const mark: SubjectMark = { noun, policy, tenantOf };
    if (descriptor.value) Reflect.defineMetadata(SUBJECT, mark, descriptor.value);
  };
}

/** An action does not say, or says wrongly, what it is about: the service does not start. */
export class MisdeclaredAction extends Error {}

interface Asked extends SubjectMark {
  readonly require: (actor: Actor, permission: Permission, id: string) => Promise<never>;
}

/** A thing that an input names. */
interface Named {
  readonly subject: Asked;
  readonly field: string;
  readonly id: string;
}

export const NO_TENANT: Tenant = { organization_id: null, workspace_id: null };
/** The permission of everyone who sees a thing. */
const SIGHT = { workspace: 'workspace.read', organization: 'organization.read' } as const;

/** Finds out what an input is about, and whether the caller may, without doing anything. */
@Injectable()
export class Subjects implements OnModuleInit {
  private readonly subjects = new Map<string, Asked>();

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
  ) {}

  onModuleInit(): void {
    const declarations: ActionDeclaration[] = [];
    for (const { instance, method } of providerMethods(this.discovery, this.scanner)) {
      const mark = Reflect.getMetadata(SUBJECT, method) as SubjectMark | undefined;
      if (mark) this.subjects.set(mark.noun, { ...mark, require: method.bind(instance) as Asked['require'] });
      const declaration = declarationOf(method);
      if (declaration) declarations.push(declaration);
    }
    for (const declaration of declarations) this.requireSound(declaration);
  }

  /** The tenant of the input; 404 and 403 as the action itself would answer, for each thing that the input names. */
  async check(actor: Actor, declaration: ActionDeclaration, input: object): Promise<Tenant> {
    const { permission, makes } = declaration;
    if (!permission) return NO_TENANT;
    let tenant = NO_TENANT;
    for (const { subject, field, id } of this.namedBy(declaration, input)) {
      const mayBeNew = field === makes;
      tenant = joined(
        tenant,
        await find(subject, actor, permission, id, error => mayBeNew && isNotFound(error)),
      );
    }
    requireScope(actor, permission);
    return tenant;
  }

  /** The tenant of the input, as far as the caller sees it, also where the action would be refused. */
  async tenant(actor: Actor, declaration: ActionDeclaration, input: object): Promise<Tenant> {
    const { permission } = declaration;
    if (!permission) return NO_TENANT;
    let tenant = NO_TENANT;
    for (const { subject, id } of this.namedBy(declaration, input))
      tenant = joined(tenant, await visibleTenant(subject, actor, id));
    return tenant;
  }

  /** The tenant of a workspace, as far as the caller sees it. */
  async tenantOfWorkspace(actor: Actor, workspaceId: string): Promise<Tenant> {
    const workspace = this.subjects.get('workspace');
    return workspace ? visibleTenant(workspace, actor, workspaceId) : NO_TENANT;
  }

  /** The things that the input names. */
  private namedBy(declaration: ActionDeclaration, input: object): Named[] {
    const values = input as Record<string, unknown>;
    return subjectsOf(declaration).flatMap(([field, noun]): Named[] => {
      const [subject, id] = [this.subjects.get(noun), values[field]];
      return subject && typeof id === 'string' ? [{ subject, field, id }] : [];
    });
  }

  private requireSound(declaration: ActionDeclaration): void {
    const { name, input, permission } = declaration;
    const on = subjectsOf(declaration);
    const policy = permission && POLICY[permission].on;
    const takesRole = policy === 'organization' || policy === 'workspace';
    if (takesRole && on.length === 0)
      throw new MisdeclaredAction(`The action ${name} requires ${permission} and does not say on what`);
    for (const [field, noun] of on) {
      if (!input || fieldsOf(input).get(field)?.kind !== 'id')
        throw new MisdeclaredAction(`The action ${name} is on ${field}, which is no id in its input`);
      if (takesRole && this.subjects.get(noun)?.policy !== policy)
        throw new MisdeclaredAction(
          `The action ${name} requires ${permission}, and ${field} names no ${policy}`,
        );
    }
  }
}

/** The tenant of what the caller sees, whatever their role and the scopes of their credential. */
async function visibleTenant(subject: Asked, actor: Actor, id: string): Promise<Tenant> {
  if (!isUuid(id)) return NO_TENANT;
  const onlooker = { ...actor, credential: { ...actor.credential, scopes: null } };
  return find(subject, onlooker, SIGHT[subject.policy], id, error => problemOf(error) !== undefined);
}

/** NO_TENANT where `isExpected` says so of the error. */
async function find(
  { require, tenantOf }: Asked,
  actor: Actor,
  permission: Permission,
  id: string,
  isExpected: (error: unknown) => boolean,
): Promise<Tenant> {
  try {
    return tenantOf(await require(actor, permission, id));
  } catch (error) {
    if (isExpected(error)) return NO_TENANT;
    throw error;
  }
}

const isNotFound = (error: unknown) => problemOf(error)?.status === 404;

const joined = (a: Tenant, b: Tenant): Tenant => ({
  organization_id: a.organization_id ?? b.organization_id,
  workspace_id: a.workspace_id ?? b.workspace_id,
});
