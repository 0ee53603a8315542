import type { StreamEvent } from './client.js';

/** Reads server-sent events out of chunks that are cut anywhere. */
export function createParser(): (chunk: Uint8Array) => StreamEvent[] {
  const decoder = new TextDecoder();
  let rest = '';
  return chunk => {
    const blocks = (rest + decoder.decode(chunk, { stream: true })).split('\n\n');
    rest = blocks.pop() ?? '';
    return blocks.flatMap(parseBlock);
  };
}

function parseBlock(block: string): StreamEvent[] {
  const fields = new Map(
    block.split('\n').map(line => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
  );
  const data = fields.get('data');
  if (data === undefined) return [];
  return [{ id: Number(fields.get('id')), event: fields.get('event') ?? 'message', data: JSON.parse(data) }];
}
