import {
  Client as NextClient,
  StreamableHTTPClientTransport as NextTransport,
} from '@modelcontextprotocol/client';
import { Client as FirstClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as FirstTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Json } from './client.js';

export const INFO = { name: 'test', version: '1.0.0' };

/** What the tests ask of a client, whichever SDK it is of. */
export interface McpClient {
  listTools(): Promise<Json>;
  callTool(call: { name: string; arguments?: Json }): Promise<Json>;
  listResources(): Promise<Json>;
  listResourceTemplates(): Promise<Json>;
  readResource(asked: { uri: string }): Promise<Json>;
  listPrompts(): Promise<Json>;
  getPrompt(asked: { name: string; arguments?: Json }): Promise<Json>;
  close(): Promise<void>;
}

/** Connects to the endpoint at an address, with these headers. */
export type Connect = (endpoint: string, headers: Record<string, string>) => Promise<McpClient>;

/** With the first line of the SDK, which speaks 2025-11-25. */
export const connectFirst: Connect = async (endpoint, headers) => {
  const client = new FirstClient(INFO);
  const transport = new FirstTransport(new URL(endpoint), { requestInit: { headers } });
  await client.connect(transport as Json);
  const { protocolVersion } = transport;
  if (protocolVersion !== '2025-11-25') throw new Error(`the first SDK speaks ${protocolVersion}`);
  return client as Json;
};

/** With the second line of the SDK, at this revision of the protocol. */
export const connectNext =
  (revision: string): Connect =>
  async (endpoint, headers) => {
    const isLegacy = revision < '2026';
    const client = new NextClient(INFO, {
      versionNegotiation: { mode: isLegacy ? 'legacy' : { pin: revision } },
      ...(isLegacy ? { supportedProtocolVersions: [revision] } : {}),
    });
    await client.connect(new NextTransport(new URL(endpoint), { requestInit: { headers } }));
    const negotiated = client.getNegotiatedProtocolVersion();
    if (negotiated !== revision) throw new Error(`${negotiated} was negotiated instead of ${revision}`);
    return client as Json;
  };
