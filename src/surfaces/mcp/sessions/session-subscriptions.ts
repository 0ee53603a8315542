import { Injectable } from '@nestjs/common';
import type { Actor } from '../../../platform/access/index.js';
import { Conflict, Invalid } from '../../../platform/errors/index.js';
import { ResourceWatch } from '../watch/resource-watch.js';
import { McpSessionsStore } from './sessions.store.js';

/** Addresses that one session may follow at a time. */
export const MOST_SUBSCRIPTIONS = 100;

/** Which addresses the client of a session wants to be told of (2025-11-25, resources, subscriptions). */
@Injectable()
export class SessionSubscriptions {
  constructor(
    private readonly sessions: McpSessionsStore,
    private readonly watch: ResourceWatch,
  ) {}

  /** Throws NotFound for what the caller does not see. */
  async begin(actor: Actor, sessionId: string | undefined, uri: string): Promise<Record<string, never>> {
    const id = required(sessionId);
    await this.watch.requireVisible(actor, uri);
    if (!(await this.sessions.subscribe(id, uri, MOST_SUBSCRIPTIONS)))
      throw new Conflict(`A session follows ${MOST_SUBSCRIPTIONS} resources at most: unsubscribe from some`);
    return {};
  }

  async end(sessionId: string | undefined, uri: string): Promise<Record<string, never>> {
    await this.sessions.unsubscribe(required(sessionId), uri);
    return {};
  }
}

function required(sessionId: string | undefined): string {
  if (sessionId === undefined)
    throw new Invalid('Subscriptions belong to a session: send the Mcp-Session-Id that initialize gave you');
  return sessionId;
}
