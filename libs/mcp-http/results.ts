import type { CallToolResult } from '@modelcontextprotocol/server';

/** The structured content of results as JSON, where it was made as JSON: the writer of the answer need not do it again. */
const written = new WeakMap<object, string>();

/** A result whose structured content is `json`, shown as `text` to a client that reads no more than that. */
export function structured(json: string, text = json, links: CallToolResult['content'] = []): CallToolResult {
  let value: Record<string, unknown> | undefined;
  const result = {
    content: [{ type: 'text' as const, text }, ...links],
    get structuredContent(): Record<string, unknown> {
      value ??= JSON.parse(json) as Record<string, unknown>;
      return value;
    },
  };
  written.set(result, json);
  return result;
}

/** The result as JSON without its closing brace, for what the revision of the client adds. */
export function openJsonOf(result: object): string {
  const json = written.get(result);
  if (json === undefined) return JSON.stringify(result).slice(0, -1);
  const { content } = result as CallToolResult;
  return `{"content":${JSON.stringify(content)},"structuredContent":${json}`;
}
