import { ProtocolError, ProtocolErrorCode, type Server } from '@modelcontextprotocol/server';
import type { Call, ChangeSource, SessionStore } from './ports.js';

/** Resources that one client may follow at a time. */
export const MAX_SUBSCRIPTIONS = 100;

/** Which resources the client of a session subscribes to (2025-11-25, resources, subscriptions). */
export class SessionSubscriptions<C extends Call> {
  constructor(
    private readonly sessions: SessionStore,
    private readonly changes: ChangeSource<C>,
  ) {}

  /** Lets a server take the requests that begin and end a subscription. */
  offer(server: Server, call: C): void {
    server.setRequestHandler('resources/subscribe', async ({ params: { uri } }, { sessionId }) => {
      const id = required(sessionId);
      await this.changes.requireVisible(call, uri);
      if (!(await this.sessions.subscribe(id, uri, MAX_SUBSCRIPTIONS)))
        throw refusal(`A session follows ${MAX_SUBSCRIPTIONS} resources at most: unsubscribe from some`);
      return {};
    });
    server.setRequestHandler('resources/unsubscribe', async ({ params: { uri } }, { sessionId }) => {
      await this.sessions.unsubscribe(required(sessionId), uri);
      return {};
    });
  }
}

const refusal = (text: string) => new ProtocolError(ProtocolErrorCode.InvalidParams, text);

function required(sessionId: string | undefined): string {
  if (sessionId === undefined)
    throw refusal('Subscriptions belong to a session: send the Mcp-Session-Id that initialize gave you');
  return sessionId;
}
