import type { JSONRPCNotification, ServerEvent } from '@modelcontextprotocol/server';
import type { Change } from './ports.js';

/** What has changed, as the event that the SDK knows. */
export const eventOf = (change: Change): ServerEvent =>
  'uri' in change ? { kind: 'resource_updated', uri: change.uri } : { kind: `${change.list}_list_changed` };

/** What has changed, as a message to a client. */
export function notificationOf(change: Change | ServerEvent): JSONRPCNotification {
  const event = 'kind' in change ? change : eventOf(change);
  if (event.kind === 'resource_updated')
    return { jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri: event.uri } };
  const list = event.kind.replace('_list_changed', '');
  return { jsonrpc: '2.0', method: `notifications/${list}/list_changed` };
}
