import { McpHttpError, type McpSession, type SessionStore } from './ports.js';

/** The session, if it is of this owner; 404 for one that ended, was never, or belongs to another owner. */
export async function requireSession(store: SessionStore, ownerId: string, id: string): Promise<McpSession> {
  const session = await store.find(id);
  if (session?.ownerId !== ownerId)
    throw new McpHttpError(404, 'No such session, or it has ended: begin a new one with initialize');
  return session;
}
