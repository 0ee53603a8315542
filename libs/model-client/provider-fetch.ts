/** Who listens to the bytes of the request that carries this signal. */
const listeners = new WeakMap<AbortSignal, () => void>();

const ERROR_BODY_LIMIT = 64 * 1024;
const SHORTEST_KEY = 8;

/**
 * Calls `heard` for every chunk of body that answers a request sent with this signal. Providers swallow
 * keep-alive comments and pings, which are the only sign of life while a model thinks for minutes.
 */
export function onBytes(signal: AbortSignal, heard: () => void): void {
  listeners.set(signal, heard);
}

/**
 * The `fetch` given to every provider. It follows no redirect (a custom key header would travel along),
 * reports bytes to {@link onBytes}, and blots the key out of error bodies that echo it.
 */
export function providerFetch(key: string | undefined): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, { ...init, redirect: 'manual' });
    return response.ok ? heardBy(response, init?.signal) : withoutKey(response, key);
  };
}

function heardBy(response: Response, signal: AbortSignal | null | undefined): Response {
  const heard = signal ? listeners.get(signal) : undefined;
  if (!response.body || !heard) return response;
  const tap = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      heard();
      controller.enqueue(chunk);
    },
  });
  return new Response(response.body.pipeThrough(tap), response);
}

async function withoutKey(response: Response, key: string | undefined): Promise<Response> {
  const text = await readStart(response.body);
  const clean = key && key.length >= SHORTEST_KEY ? text.replaceAll(key, '[key]') : text;
  return new Response(clean || null, response);
}

/** The first part of a body as text; the rest is dropped. */
async function readStart(body: ReadableStream<Uint8Array> | null): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  if (body) {
    for await (const chunk of body) {
      chunks.push(chunk);
      size += chunk.byteLength;
      if (size >= ERROR_BODY_LIMIT) break;
    }
  }
  return Buffer.concat(chunks).subarray(0, ERROR_BODY_LIMIT).toString('utf8');
}
