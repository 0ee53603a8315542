import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { isExactNumber, textOf } from '#libs/exact-json/index.js';
import { bytesOf, readBody } from '#libs/fastify-hardening/index.js';
import { type FormRequest, receiveForm } from '#libs/http-files/index.js';
import { Invalid, TooLarge } from '../../../platform/errors/index.js';
import { LIMITS } from '../file/form-definition.js';

/** Names of what is no field: ids of fields begin with a letter. */
export const TICKET = '_ticket';
export const PROOF = '_proof';

/** What somebody handed in, as it was sent. */
export interface HandedIn {
  readonly ticket: string;
  readonly proof: string;
  readonly values: Map<string, string[]>;
}

/** Takes a file of a form; returns nothing of it. */
export type TakeFile = (field: string, name: string, bytes: AsyncIterable<Uint8Array>) => Promise<void>;

const MAX_TEXT = 1024 * 1024;
const MAX_VALUES = 5_000;

export const isJson = ({ headers }: FastifyRequest): boolean =>
  /^application\/json\b/i.test(headers['content-type'] ?? '');

/** Reads a form that a page or a script sent: at most a MiB of text, files handed to `take` as they come. */
export async function readHandedIn(request: FastifyRequest, take: TakeFile): Promise<HandedIn> {
  if (isJson(request)) return ofJson(await readBody(request));
  const gathered = new Gathered();
  const isMultipart = /^multipart\/form-data\b/i.test(request.headers['content-type'] ?? '');
  if (isMultipart) {
    const limits = { files: LIMITS.files, fields: MAX_VALUES, fieldBytes: MAX_TEXT };
    await receiveForm(bodyOf(request), limits, {
      field: (name, value) => gathered.add(name, value),
      file: (name, bytes, field) => take(field, name, bytes),
    });
  } else for (const [name, value] of await urlEncoded(request)) gathered.add(name, value);
  return gathered.result();
}

function bodyOf({ headers, body }: FastifyRequest): FormRequest {
  return { headers, body: body instanceof Readable ? bytesOf(body) : undefined };
}

async function urlEncoded(request: FastifyRequest): Promise<URLSearchParams> {
  const { body } = bodyOf(request);
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
    size += chunk.byteLength;
    // What is escaped takes up to three bytes a byte.
    if (size > 3 * MAX_TEXT) throw tooMuch();
  }
  return new URLSearchParams(Buffer.concat(chunks).toString());
}

const tooMuch = () => new TooLarge('The form has more in it than it may', { connection: 'close' });

/** Values by field, within bounds. */
class Gathered {
  private readonly values = new Map<string, string[]>();
  private size = 0;
  private count = 0;

  add(name: string, value: string): void {
    this.size += name.length + value.length;
    if (this.size > MAX_TEXT || ++this.count > MAX_VALUES) throw tooMuch();
    const known = this.values.get(name);
    if (known) known.push(value);
    else this.values.set(name, [value]);
  }

  result(): HandedIn {
    const { values } = this;
    return { ticket: values.get(TICKET)?.[0] ?? '', proof: values.get(PROOF)?.[0] ?? '', values };
  }
}

const SHAPE =
  'Send {"ticket": "…", "values": {"field": "text"}}; the ticket is that of the address with /challenge';

function ofJson(body: unknown): HandedIn {
  const { ticket, altcha = '', values } = (body ?? {}) as Record<string, unknown>;
  if (
    typeof ticket !== 'string' ||
    typeof altcha !== 'string' ||
    typeof values !== 'object' ||
    values === null
  )
    throw new Invalid(SHAPE);
  const gathered = new Gathered();
  for (const [name, value] of Object.entries(values))
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one === null) continue;
      if (typeof one === 'object' && !isExactNumber(one))
        throw new Invalid(`${name.slice(0, 60)} must be a text, a number, true, false or a list of texts`);
      gathered.add(name, textOf(one));
    }
  return { ...gathered.result(), ticket, proof: altcha };
}
