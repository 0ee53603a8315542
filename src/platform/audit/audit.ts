import { Injectable } from '@nestjs/common';
import type { Actor } from '../access/index.js';
import { newId, UnitOfWork } from '../database/index.js';
import { defineEvent, Events } from '../events/index.js';
import { requestOrigin } from '../http/index.js';

/** What was changed; a row with a `type` beside it is one. */
export interface AuditTarget {
  readonly type: string;
  readonly id: string;
  /** The organization that reads about it; null for what concerns the installation or one account only. */
  readonly organization_id?: string | null;
  readonly workspace_id?: string | null;
}

declare global {
  interface ColumnTypes {
    'audit_entry.details': Record<string, unknown>;
  }
}

/** A change of what people and programs may do, with the content of its entry. */
export const audited = defineEvent<AuditFacts>('audit.recorded');

export interface AuditFacts {
  readonly id: string;
  readonly action: string;
  readonly target_type: string;
  readonly target_id: string;
  readonly organization_id: string | null;
  readonly workspace_id?: string | null;
  readonly details?: Record<string, unknown>;
  /** Null: no one was signed in. */
  readonly actor_id: string | null;
}

const MAX_USER_AGENT = 500;

/**
 * The record of who changed what people and programs may do. Rows are only ever added: the database refuses to change
 * or delete one, and they outlive what they tell of.
 */
@Injectable()
export class Audit {
  constructor(private readonly events: Events) {}

  /**
   * Adds one row in the caller's transaction: it stands exactly if the change does.
   *
   * @param actor null for the service itself
   * @param action what was done, noun first: `workspace.set_visibility`
   * @param details what changed, for people to read; never a secret, nor anything that stands for one
   */
  async record(
    unit: UnitOfWork,
    actor: Actor | null,
    action: string,
    target: AuditTarget,
    details: Record<string, unknown> = {},
  ): Promise<void> {
    const { type: target_type, id: target_id, organization_id = null, workspace_id = null } = target;
    const what = { action, target_type, target_id, organization_id, workspace_id, details };
    const id = newId();
    await unit
      .tables()
      .insertInto('audit_entry')
      .values({ id, time: new Date().toISOString(), ...who(actor), ...what, ...whereFrom() })
      .execute();
    await this.events.publish(unit, audited, { ...what, id, actor_id: actor?.id ?? null });
  }
}

function who(actor: Actor | null) {
  return {
    actor_type: actor?.type ?? null,
    actor_id: actor?.id ?? null,
    actor_name: actor?.name ?? null,
    // A run, a program with an exec token and an application that was let in act for the one who let them.
    on_behalf_of_id: isProgram(actor) ? actor.id : null,
    credential_type: actor?.credential.type ?? null,
    credential_id: actor?.credential.id ?? null,
  };
}

function isProgram(actor: Actor | null): actor is Actor {
  return actor?.credential.type === 'exec' || actor?.credential.type === 'oauth';
}

function whereFrom() {
  const origin = requestOrigin();
  return {
    address: origin?.address ?? null,
    user_agent: origin?.user_agent?.slice(0, MAX_USER_AGENT).toWellFormed() ?? null,
    request_id: origin?.request_id ?? null,
  };
}
