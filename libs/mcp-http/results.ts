import type { CallToolResult } from '@modelcontextprotocol/server';

/** A result whose structured content is `json`, shown as `text` to a client that reads no more than that. */
export function structured(json: string, text = json, links: CallToolResult['content'] = []): CallToolResult {
  return {
    content: [{ type: 'text', text }, ...links],
    structuredContent: JSON.parse(json) as Record<string, unknown>,
  };
}
