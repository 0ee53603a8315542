import { Injectable, OnModuleInit } from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { validate as isUuid } from 'uuid';
import {
  type Actor,
  isOrganizationPermission,
  isWorkspacePermission,
  type Permission,
  requireScope,
} from '../access/index.js';
import { providerMethods } from '../discovery/index.js';
import { fieldsOf } from '../dto/index.js';
import { problemOf } from '../errors/index.js';
import type { ActionDeclaration } from './action.js';

/** Where an action takes place, as far as it is known. */
export interface Place {
  readonly organization_id: string | null;
  readonly workspace_id: string | null;
}

type Policy = 'organization' | 'workspace';
type Require<Found> = (actor: Actor, permission: never, id: string, ...rest: never[]) => Promise<Found>;

interface SubjectMark {
  readonly noun: string;
  readonly policy: Policy;
  readonly placeOf: (found: never) => Place;
}

const SUBJECT = Symbol('subject');

/**
 * Marks the store method that answers "may this caller do that to this thing", `(actor, permission, id)`, as the one to
 * ask about inputs that name such a thing: by a field `<noun>_id`, or by `id` in an action whose name begins with the
 * noun. `policy` says in which table its permissions are.
 */
export function Subject<Found>(noun: string, policy: Policy, placeOf: (found: Found) => Place) {
  return (_target: object, _key: string, descriptor: { value?: Require<Found> }): void => {
    const mark: SubjectMark = { noun, policy, placeOf };
    if (descriptor.value) Reflect.defineMetadata(SUBJECT, mark, descriptor.value);
  };
}

interface Asked extends SubjectMark {
  readonly require: (actor: Actor, permission: Permission, id: string) => Promise<never>;
}

/** A thing that an input names. */
interface Named {
  readonly subject: Asked;
  readonly field: string;
  readonly id: string;
}

const NOWHERE: Place = { organization_id: null, workspace_id: null };
/** What shows that somebody sees a thing, whatever else they may. */
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
    for (const { instance, method } of providerMethods(this.discovery, this.scanner)) {
      const mark = Reflect.getMetadata(SUBJECT, method) as SubjectMark | undefined;
      if (mark) this.subjects.set(mark.noun, { ...mark, require: method.bind(instance) as Asked['require'] });
    }
  }

  /** Where it would take place: 404 and 403 as the action itself would answer, for each thing that the input names. */
  async check(actor: Actor, declaration: ActionDeclaration, input: object): Promise<Place> {
    const { permission, makes } = declaration;
    if (!permission) return NOWHERE;
    let place = NOWHERE;
    for (const { subject, field, id } of this.namedBy(declaration, input)) {
      const mayBeNew = field === makes;
      place = joined(
        place,
        await find(subject, actor, permission, id, error => mayBeNew && isNotFound(error)),
      );
    }
    requireScope(actor, permission);
    return place;
  }

  /** Where it takes place, or would where it is refused, as far as the caller sees it: also what they may not touch. */
  async place(actor: Actor, declaration: ActionDeclaration, input: object): Promise<Place> {
    const { permission } = declaration;
    if (!permission) return NOWHERE;
    let place = NOWHERE;
    for (const { subject, id } of this.namedBy(declaration, input))
      place = joined(place, await seenPlace(subject, actor, id));
    return place;
  }

  /** A workspace as a place, as far as the caller sees it. */
  async placeIn(actor: Actor, workspaceId: string): Promise<Place> {
    const workspace = this.subjects.get('workspace');
    return workspace ? seenPlace(workspace, actor, workspaceId) : NOWHERE;
  }

  /** The things that the input names and about which the action's permission can be asked. */
  private namedBy({ name, input: shape, permission }: ActionDeclaration, input: object): Named[] {
    const policy = isWorkspacePermission(permission) ? 'workspace' : 'organization';
    if (!shape || (policy === 'organization' && !isOrganizationPermission(permission))) return [];
    const values = input as Record<string, unknown>;
    return [...fieldsOf(shape)].flatMap(([field, { kind }]): Named[] => {
      const value = values[field];
      const subject = kind === 'id' ? this.subjectOf(field, name) : undefined;
      return subject?.policy === policy && typeof value === 'string' ? [{ subject, field, id: value }] : [];
    });
  }

  private subjectOf(field: string, action: string): Asked | undefined {
    if (field !== 'id') return this.subjects.get(field.replace(/_id$/, ''));
    const nouns = [...this.subjects.keys()].filter(noun => action.startsWith(`${noun}_`));
    const [longest = ''] = nouns.sort((a, b) => b.length - a.length);
    return this.subjects.get(longest);
  }
}

/** Where the thing is, for who sees it, whatever their role and the scopes of their credential. */
async function seenPlace(subject: Asked, actor: Actor, id: string): Promise<Place> {
  if (!isUuid(id)) return NOWHERE;
  const onlooker = { ...actor, credential: { ...actor.credential, scopes: null } };
  return find(subject, onlooker, SIGHT[subject.policy], id, error => problemOf(error) !== undefined);
}

/** Where the thing is; nowhere where the answer is an error that may be. */
async function find(
  { require, placeOf }: Asked,
  actor: Actor,
  permission: Permission,
  id: string,
  mayBe: (error: unknown) => boolean,
): Promise<Place> {
  try {
    return placeOf(await require(actor, permission, id));
  } catch (error) {
    if (mayBe(error)) return NOWHERE;
    throw error;
  }
}

const isNotFound = (error: unknown) => problemOf(error)?.status === 404;

const joined = (a: Place, b: Place): Place => ({
  organization_id: a.organization_id ?? b.organization_id,
  workspace_id: a.workspace_id ?? b.workspace_id,
});
