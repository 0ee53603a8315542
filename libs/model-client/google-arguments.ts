import { parseJson } from '#libs/exact-json/index.js';

/**
 * A `fetch` whose answers have the arguments of tools as text. Google sends them as a value, of which the SDK would read
 * numbers as doubles; a text it hands on as it is.
 */
export function withArgumentsAsText(ask: typeof fetch): typeof fetch {
  return async (input, init) => {
    const response = await ask(input, init);
    if (!response.ok || !response.body) return response;
    return new Response(ReadableStream.from(linesOf(response.body)), response);
  };
}

async function* linesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let begun: Uint8Array[] = [];
  for await (const chunk of body) {
    const end = chunk.lastIndexOf(LINE_FEED) + 1;
    if (end > 0) {
      yield rewritten(Buffer.concat([...begun, chunk.subarray(0, end)]));
      begun = [];
    }
    if (end < chunk.byteLength) begun.push(chunk.subarray(end));
  }
  if (begun.length > 0) yield rewritten(Buffer.concat(begun));
}

const LINE_FEED = 10;
/** Events are one line each (https://ai.google.dev/api/generate-content#method:-models.streamgeneratecontent). */
const WITH_CALL = /^data:(.*"functionCall".*?)(\r?)$/gm;

function rewritten(lines: Buffer): Uint8Array {
  if (!lines.includes('"functionCall"')) return lines;
  return Buffer.from(
    lines.toString().replace(WITH_CALL, (line, json: string, end: string) => {
      const event = eventOf(json);
      return event === undefined ? line : `data: ${JSON.stringify(event)}${end}`;
    }),
  );
}

interface GoogleEvent {
  candidates?: { content?: { parts?: { functionCall?: { args?: unknown } }[] } }[];
}

/** Undefined for what is no JSON, which the SDK complains of. */
function eventOf(json: string): GoogleEvent | undefined {
  try {
    const event = parseJson(json) as GoogleEvent;
    for (const { content } of event.candidates ?? [])
      for (const { functionCall } of content?.parts ?? [])
        if (functionCall?.args) functionCall.args = JSON.stringify(functionCall.args);
    return event;
  } catch {
    return undefined;
  }
}
