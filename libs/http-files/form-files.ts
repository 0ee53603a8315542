import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { Busboy, type BusboyHeaders } from '@fastify/busboy';
import { FileRefusal } from './refusal.js';

/** A request with its body, unparsed; undefined where something else has taken it. */
export interface FormRequest {
  readonly headers: IncomingHttpHeaders;
  readonly body: AsyncIterable<Uint8Array> | undefined;
}

type Store = (name: string, bytes: AsyncIterable<Uint8Array>, field: string) => Promise<void>;

export interface FormLimits {
  readonly files: number;
  readonly fields: number;
  /** Bytes of one field that is no file. */
  readonly fieldBytes: number;
}

/** What becomes of the parts of a form. */
export interface FormParts {
  /** Fields that are no files, as they arrive. */
  readonly field?: (name: string, value: string) => void;
  readonly file: Store;
}

/** The files of a form, handed to `store`; as {@link receiveForm}. */
export const receiveFiles = (form: FormRequest, most: number, store: Store): Promise<void> =>
  receiveForm(form, { files: most, fields: 10, fieldBytes: 1000 }, { file: store });

/**
 * The parts of a form (multipart/form-data, RFC 7578), handed over as they arrive, files one after the other. The first
 * failure ends it: the rest of the body is not taken.
 */
export async function receiveForm(
  { headers, body }: FormRequest,
  limits: FormLimits,
  parts: FormParts,
): Promise<void> {
  if (!/^multipart\/form-data\b.*boundary=/i.test(headers['content-type'] ?? '') || !body)
    throw new FileRefusal(415, 'Send the form of this page');
  const form = parserOf(headers as BusboyHeaders, limits);
  const arriving = new Set<Readable>();
  let stored = Promise.resolve();
  const failed = Promise.withResolvers<never>();
  // The race below reports it once, or it comes too late to matter.
  failed.promise.catch(() => undefined);
  form.on('filesLimit', () =>
    failed.reject(new FileRefusal(413, `At most ${limits.files} files can be sent at once`)),
  );
  const { field: take } = parts;
  if (take) {
    const tooMuch = () => failed.reject(new FileRefusal(413, 'The form has more in it than it may'));
    form.on('fieldsLimit', tooMuch).on('partsLimit', tooMuch);
    form.on('field', (name, value, nameCut, valueCut) =>
      nameCut || valueCut ? tooMuch() : take(name, value),
    );
  }
  form.on('error', error =>
    failed.reject(new FileRefusal(400, `The form cannot be read: ${(error as Error).message}`)),
  );
  form.on('file', (field, stream, name) => {
    // Its reader gets the error; one that waits for its turn has none yet.
    stream.on('error', () => undefined);
    arriving.add(stream);
    stored = stored
      .then(() => unlessEmpty(stream, name, field, parts.file))
      .finally(() => arriving.delete(stream));
    stored.catch(failed.reject);
  });
  try {
    await Promise.race([feed(body, form), failed.promise]);
    await stored;
  } finally {
    // The early end tells the reader; the first failure is the one that counts.
    for (const stream of arriving) stream.destroy();
    form.destroy();
    await Promise.allSettled([stored]);
  }
}

function parserOf(headers: BusboyHeaders, { files, fields, fieldBytes }: FormLimits) {
  try {
    return new Busboy({
      headers,
      limits: { files, fields, fieldSize: fieldBytes, parts: files + fields + 10, headerPairs: 20 },
    });
  } catch (error) {
    throw new FileRefusal(400, `The form cannot be read: ${(error as Error).message}`);
  }
}

async function feed(body: AsyncIterable<Uint8Array>, form: InstanceType<typeof Busboy>): Promise<void> {
  const done = finished(form);
  done.catch(() => undefined);
  for await (const chunk of body) {
    if (form.destroyed) return;
    if (!form.write(chunk)) await Promise.race([drained(form), done]);
  }
  form.end();
  await done;
}

const drained = (form: InstanceType<typeof Busboy>) =>
  new Promise<void>(resolve => form.once('drain', () => resolve()));

/** A form whose field was left empty holds a file without a name and without bytes. */
async function unlessEmpty(
  stream: Readable,
  name: string | undefined,
  field: string,
  store: Store,
): Promise<void> {
  if (name) await store(name, wholeOf(stream), field);
  else stream.resume();
}

async function* wholeOf(stream: Readable): AsyncGenerator<Uint8Array> {
  try {
    yield* stream;
  } catch (error) {
    throw new FileRefusal(400, `The form was cut off: ${(error as Error).message}`);
  }
}
