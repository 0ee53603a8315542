import { Inject, Injectable, OnModuleInit } from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import type { Actor } from '../access/actor.js';
import {
  isOrganizationPermission,
  isWorkspacePermission,
  type Permission,
  requireScope,
} from '../access/policy.js';
import { fieldsOf } from '../http/field.js';
import type { ActionDeclaration } from './action.js';
import { providerMethods } from './provider-methods.js';

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

const NOWHERE: Place = { organization_id: null, workspace_id: null };

/** Finds out what an input is about, and whether the caller may, without doing anything. */
@Injectable()
export class Subjects implements OnModuleInit {
  private readonly subjects = new Map<string, Asked>();

  constructor(
    @Inject(DiscoveryService) private readonly discovery: DiscoveryService,
    @Inject(MetadataScanner) private readonly scanner: MetadataScanner,
  ) {}

  onModuleInit(): void {
    for (const { instance, method } of providerMethods(this.discovery, this.scanner)) {
      const mark = Reflect.getMetadata(SUBJECT, method) as SubjectMark | undefined;
      if (mark) this.subjects.set(mark.noun, { ...mark, require: method.bind(instance) as Asked['require'] });
    }
  }

  /** Where it would take place: 404 and 403 as the action itself would answer, for each thing that the input names. */
  async locate(actor: Actor, declaration: ActionDeclaration, input: object): Promise<Place> {
    const { permission } = declaration;
    if (!permission) return NOWHERE;
    let place = NOWHERE;
    for (const [{ require, placeOf }, id] of this.namedBy(declaration, input)) {
      const found = placeOf(await require(actor, permission, id));
      place = {
        organization_id: place.organization_id ?? found.organization_id,
        workspace_id: place.workspace_id ?? found.workspace_id,
      };
    }
    requireScope(actor, permission);
    return place;
  }

  /** The things that the input names and about which the action's permission can be asked. */
  private namedBy({ name, input: shape, permission }: ActionDeclaration, input: object): [Asked, string][] {
    const policy = isWorkspacePermission(permission) ? 'workspace' : 'organization';
    if (!shape || (policy === 'organization' && !isOrganizationPermission(permission))) return [];
    const values = input as Record<string, unknown>;
    return [...fieldsOf(shape)].flatMap(([field, { kind }]): [Asked, string][] => {
      const value = values[field];
      const subject = kind === 'id' ? this.subjectOf(field, name) : undefined;
      return subject?.policy === policy && typeof value === 'string' ? [[subject, value]] : [];
    });
  }

  private subjectOf(field: string, action: string): Asked | undefined {
    if (field !== 'id') return this.subjects.get(field.replace(/_id$/, ''));
    const nouns = [...this.subjects.keys()].filter(noun => action.startsWith(`${noun}_`));
    const [longest = ''] = nouns.sort((a, b) => b.length - a.length);
    return this.subjects.get(longest);
  }
}
