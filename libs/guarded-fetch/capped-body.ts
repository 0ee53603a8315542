import { GuardedFetchError } from './error.js';

const tooLarge = (most: number) => new GuardedFetchError('size', `The answer is larger than ${most} bytes`);

/** The same answer, whose body fails beyond `most` bytes (after decompression, so that a small bomb is none). */
export function capBody(response: Response, most: number): Response {
  if (Number(response.headers.get('content-length')) > most) {
    void response.body?.cancel();
    throw tooLarge(most);
  }
  // The client reads no more than was announced; what is compressed may be larger than that.
  const isAnnounced = response.headers.has('content-length') && !response.headers.has('content-encoding');
  if (!response.body || isAnnounced) return response;
  let size = 0;
  const counted = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        size += chunk.length;
        if (size > most) controller.error(tooLarge(most));
        else controller.enqueue(chunk);
      },
    }),
  );
  const { status, statusText, headers, url } = response;
  const capped = new Response(counted, { status, statusText, headers });
  return Object.defineProperty(capped, 'url', { value: url });
}
