const ERROR_BODY_LIMIT = 64 * 1024;
const MIN_KEY = 8;

/** The first part of the body of an error as text, without the key that some servers echo; the rest is dropped. */
export async function errorText(
  body: AsyncIterable<Uint8Array> | null,
  key: string | undefined,
): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  if (body) {
    for await (const chunk of body) {
      chunks.push(chunk);
      size += chunk.byteLength;
      if (size >= ERROR_BODY_LIMIT) break;
    }
  }
  const text = Buffer.concat(chunks).subarray(0, ERROR_BODY_LIMIT).toString('utf8');
  return key && key.length >= MIN_KEY ? text.replaceAll(key, '[key]') : text;
}
