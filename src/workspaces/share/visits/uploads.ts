import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { Busboy, type BusboyHeaders } from '@fastify/busboy';
import type { FastifyRequest } from 'fastify';
import { bytesOf } from '#libs/fastify-hardening/index.js';
import { WorkspaceFsError } from '#libs/workspace-fs/index.js';
import { BadRequest, TooLarge, UnsupportedMediaType } from '../../../platform/errors/index.js';
import type { Visit } from './visits.service.js';

const MAX_NAME_BYTES = 200;
const MAX_NUMBERED = 1000;
/** Of a longer name, this many characters of its beginning and of its end are looked at. */
const MAX_LOOKED_AT = 250;

/** Names of files that visitors hand in. Those that are being written are taken, too. */
export class UploadNames {
  private readonly taken = new Set<string>();

  /** Runs `write` with a path that is free, numbered where the name is not; answers the name it got. */
  async use(visit: Visit, given: string, write: (path: string) => Promise<unknown>): Promise<string> {
    const wanted = sanitised(given);
    for (let number = 0; number < MAX_NUMBERED; number++) {
      const name = number === 0 ? wanted : numbered(wanted, number);
      const path = visit.pathOf(name);
      const key = `${visit.link.workspace_id} ${path}`;
      if (this.taken.has(key)) continue;
      this.taken.add(key);
      try {
        if (!(await isFree(visit, path))) continue;
        await write(path);
        return name;
      } finally {
        this.taken.delete(key);
      }
    }
    throw new WorkspaceFsError('exists', wanted);
  }
}

/** One plain name of whatever a client calls a file: no folders, no signs that are not seen, no dot in front. */
export function sanitised(given: string): string {
  const base = shortened(given.slice(lastSeparator(given) + 1))
    .toWellFormed()
    .normalize('NFC');
  const plain = base.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}<>:"|?*]/gu, '_').replace(/^[.\s]+|[.\s]+$/gu, '');
  const { stem, ending } = split(plain === '' ? 'file' : plain);
  return `${cutTo(stem, MAX_NAME_BYTES - Buffer.byteLength(ending))}${ending}`;
}

const lastSeparator = (path: string) => Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\'));

/** A name can be as long as the head of a form's part; what it costs is bounded before anything is done with it. */
const shortened = (name: string) =>
  name.length > 2 * MAX_LOOKED_AT ? name.slice(0, MAX_LOOKED_AT) + name.slice(-MAX_LOOKED_AT) : name;

function numbered(name: string, number: number): string {
  const { stem, ending } = split(name);
  return `${stem} (${number})${ending}`;
}

/** What is not short is no ending. */
function split(name: string): { stem: string; ending: string } {
  const [ending = ''] = /(?<=.)\.[^.\s]{1,12}$/u.exec(name) ?? [];
  return { stem: name.slice(0, name.length - ending.length), ending };
}

/** The longest beginning of whole characters that has no more bytes. */
function cutTo(text: string, bytes: number): string {
  let size = 0;
  let length = 0;
  for (const character of text) {
    size += Buffer.byteLength(character);
    if (size > bytes) break;
    length += character.length;
  }
  return text.slice(0, length);
}

async function isFree({ files }: Visit, path: string): Promise<boolean> {
  try {
    await files.stat(path);
    return false;
  } catch (error) {
    if (error instanceof WorkspaceFsError && error.code === 'not_found') return true;
    throw error;
  }
}

type Store = (name: string, bytes: AsyncIterable<Uint8Array>) => Promise<void>;

/**
 * The files of a form (multipart/form-data, RFC 7578), handed to `store` one after the other as they arrive. The first
 * failure ends it: the rest of the body is not taken.
 */
export async function receiveFiles(request: FastifyRequest, most: number, store: Store): Promise<void> {
  const { headers, body } = request;
  if (!/^multipart\/form-data\b.*boundary=/i.test(headers['content-type'] ?? '') || !isStream(body))
    throw new UnsupportedMediaType('Send the form of this page');
  const form = parserOf(headers as BusboyHeaders, most);
  const arriving = new Set<Readable>();
  let stored = Promise.resolve();
  const failed = Promise.withResolvers<never>();
  // The race below reports it once, or it comes too late to matter.
  failed.promise.catch(() => undefined);
  form.on('filesLimit', () => failed.reject(new TooLarge(`At most ${most} files can be sent at once`)));
  form.on('error', error =>
    failed.reject(new BadRequest(`The form cannot be read: ${(error as Error).message}`)),
  );
  form.on('file', (_field, stream, name) => {
    // Its reader gets the error; one that waits for its turn has none yet.
    stream.on('error', () => undefined);
    arriving.add(stream);
    stored = stored.then(() => unlessEmpty(stream, name, store)).finally(() => arriving.delete(stream));
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

const isStream = (body: unknown): body is Readable =>
  typeof body === 'object' && body !== null && 'pipe' in body;

function parserOf(headers: BusboyHeaders, files: number) {
  try {
    return new Busboy({
      headers,
      limits: { files, fields: 10, fieldSize: 1000, parts: files + 20, headerPairs: 20 },
    });
  } catch (error) {
    throw new BadRequest(`The form cannot be read: ${(error as Error).message}`);
  }
}

async function feed(body: Readable, form: InstanceType<typeof Busboy>): Promise<void> {
  const done = finished(form);
  done.catch(() => undefined);
  for await (const chunk of bytesOf(body)) {
    if (form.destroyed) return;
    if (!form.write(chunk)) await Promise.race([drained(form), done]);
  }
  form.end();
  await done;
}

const drained = (form: InstanceType<typeof Busboy>) =>
  new Promise<void>(resolve => form.once('drain', () => resolve()));

/** A form whose field was left empty holds a file without a name and without bytes. */
async function unlessEmpty(stream: Readable, name: string | undefined, store: Store): Promise<void> {
  if (name) await store(name, wholeOf(stream));
  else stream.resume();
}

async function* wholeOf(stream: Readable): AsyncGenerator<Uint8Array> {
  try {
    yield* stream;
  } catch (error) {
    throw new BadRequest(`The form was cut off: ${(error as Error).message}`);
  }
}
