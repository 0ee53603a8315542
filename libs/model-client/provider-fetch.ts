import { listenerOf } from './answer-bytes.js';
import { errorText } from './error-body.js';

/**
 * The `fetch` given to the SDKs. It follows no redirect (a custom key header would travel along), reports the bytes of
 * answers, and blots the key out of error bodies that echo it.
 */
export function providerFetch(key: string | undefined): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, { ...init, redirect: 'manual' });
    if (response.ok) return heardBy(response, listenerOf(init?.signal));
    return new Response((await errorText(response.body, key)) || null, response);
  };
}

/** A reader of the body that tells of each chunk: a stream to pipe through would be two more queues. */
function heardBy(response: Response, heard: (() => void) | undefined): Response {
  if (!response.body || !heard) return response;
  const reader = response.body.getReader();
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await reader.read();
        if (done) return controller.close();
        heard();
        controller.enqueue(value);
      },
      cancel: reason => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
  return new Response(body, response);
}
