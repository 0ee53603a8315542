import type { JSONRPCNotification, ServerEvent } from '@modelcontextprotocol/server';
import type { Noticed } from './resource-watch.js';

/** What was noticed, as the event that the SDK knows. */
export const eventOf = (noticed: Noticed): ServerEvent =>
  'uri' in noticed
    ? { kind: 'resource_updated', uri: noticed.uri }
    : { kind: `${noticed.list}_list_changed` };

/** What was noticed, as a message to a client. */
export function notificationOf(noticed: Noticed | ServerEvent): JSONRPCNotification {
  const event = 'kind' in noticed ? noticed : eventOf(noticed);
  if (event.kind === 'resource_updated')
    return { jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri: event.uri } };
  const list = event.kind.replace('_list_changed', '');
  return { jsonrpc: '2.0', method: `notifications/${list}/list_changed` };
}
