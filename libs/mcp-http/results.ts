import type { CallToolResult } from '@modelcontextprotocol/server';
import { parseJson } from '#libs/exact-json/index.js';

/** A result whose structured content is `json`, shown as `text` to a client that reads no more than that. */
export function structured(json: string, text = json, links: CallToolResult['content'] = []): CallToolResult {
  return {
    content: [{ type: 'text', text }, ...links],
    structuredContent: parseJson(json) as Record<string, unknown>,
  };
}
