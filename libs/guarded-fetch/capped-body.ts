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
  const { status, statusText, headers, url } = response;
  const capped = new Response(counted(response.body, most), { status, statusText, headers });
  return Object.defineProperty(capped, 'url', { value: url });
}

function counted(body: ReadableStream<Uint8Array>, most: number): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let size = 0;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await reader.read();
        if (done) return controller.close();
        size += value.length;
        if (size <= most) return controller.enqueue(value);
        const fault = tooLarge(most);
        controller.error(fault);
        await reader.cancel(fault).catch(() => undefined);
      },
      cancel: reason => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}
