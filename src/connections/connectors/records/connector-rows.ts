import type { Row } from '../../../platform/database/index.js';
import type { ServerFacts } from '../client/remote-server.js';
import type { ToolDefinition, ToolEffect } from '../tools/pin.js';

export const AUTHS = ['none', 'bearer', 'headers', 'oauth'] as const;
export type Auth = (typeof AUTHS)[number];

/**
 * `new`: nobody has approved it. `approved`: it is as it was approved. `changed`, `removed`: it was approved, and the server
 * says something else by now. `blocked`: somebody said no.
 */
export const TOOL_STATES = ['new', 'approved', 'changed', 'removed', 'blocked'] as const;
export type ToolState = (typeof TOOL_STATES)[number];

/** How access tokens are renewed: who we are to which authorization server. The secret lies with the tokens. */
export interface StoredClient {
  readonly id: string;
  readonly auth: 'basic' | 'post' | 'none';
  readonly token_endpoint: string;
  /** cimd: by the address of our metadata document; dcr: registered there; typed: by a person. */
  readonly by: 'cimd' | 'dcr' | 'typed';
}

/** What the server said of itself the last time, and what of its tools cannot be used. */
export interface StoredServer extends Omit<ServerFacts, 'instructions'> {
  readonly unusable: readonly { readonly name: string; readonly reason: string }[];
}

declare global {
  interface ColumnTypes {
    'connector.auth': Auth;
    'connector.server': StoredServer;
    'connector_credential.client': StoredClient;
    'connector_tool.definition': ToolDefinition;
    'connector_tool.approved': ToolDefinition;
    'connector_tool.state': ToolState;
    'connector_tool.effect': ToolEffect;
  }
}

export type ConnectorRow = Row<'connector'>;
export type CredentialRow = Row<'connector_credential'>;
export type ToolRow = Row<'connector_tool'>;
export type GrantRow = Row<'connector_grant'>;
