import { listenerOf } from './answer-bytes.js';
import { errorText } from './error-body.js';
import { ModelError } from './model-error.js';

/**
 * The `fetch` given to the SDKs. It follows no redirect (a custom key header would travel along), reports the bytes of
 * answers, and blots the key out of error bodies that echo it.
 */
export function providerFetch(key: string | undefined): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, { ...init, redirect: 'manual' });
    if (response.ok) return limited(response, listenerOf(init?.signal));
    return new Response((await errorText(response.body, key)) || null, response);
  };
}

/** More bytes than any answer has, keep-alive comments included. */
const MAX_BYTES = 64 * 1024 * 1024;

/** A reader of the body that tells of each chunk: a stream to pipe through would be two more queues. */
function limited(response: Response, heard: (() => void) | undefined): Response {
  if (!response.body) return response;
  const reader = response.body.getReader();
  let bytes = 0;
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await reader.read();
        if (done) return controller.close();
        heard?.();
        bytes += value.byteLength;
        if (bytes <= MAX_BYTES) return controller.enqueue(value);
        await reader.cancel();
        controller.error(new ModelError('unknown', `The answer has more than ${MAX_BYTES} bytes.`));
      },
      cancel: reason => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
  return new Response(body, response);
}
