import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';

const ALGORITHM = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** AES-256-GCM: `iv | ciphertext | tag`. What is encrypted for one context opens in that context only. */
export function encrypt(key: KeyObject, plain: Buffer | string, context: string): Buffer {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(ALGORITHM, key, iv).setAAD(Buffer.from(context));
  const inside = [cipher.update(Buffer.from(plain)), cipher.final()];
  return Buffer.concat([iv, ...inside, cipher.getAuthTag()]);
}

/** undefined where the key or the context is another one, or a byte was changed. */
export function decrypt(key: KeyObject, sealed: Buffer, context: string): Buffer | undefined {
  if (sealed.length < IV_BYTES + TAG_BYTES) return undefined;
  const decipher = createDecipheriv(ALGORITHM, key, sealed.subarray(0, IV_BYTES));
  decipher.setAAD(Buffer.from(context)).setAuthTag(sealed.subarray(-TAG_BYTES));
  const inside = decipher.update(sealed.subarray(IV_BYTES, -TAG_BYTES));
  try {
    return Buffer.concat([inside, decipher.final()]);
  } catch {
    // Only the tag can be wrong here.
    return undefined;
  }
}

/** A key that wraps the keys of envelopes. */
export interface WrappingKey {
  readonly id: string;
  readonly key: KeyObject;
}

/** A secret under a key of its own, which is wrapped by the key with this id. */
export interface Envelope {
  readonly key_id: string;
  readonly wrapped_key: Buffer;
  readonly sealed: Buffer;
}

export function seal(under: WrappingKey, value: string, context: string): Envelope {
  const dataKey = randomBytes(32);
  const sealed = encrypt(createSecretKey(dataKey), value, context);
  return { ...wrap(under, dataKey, context), sealed };
}

/** undefined where the key or the context is another one, or a byte was changed. */
export function open(
  { key }: WrappingKey,
  { wrapped_key, sealed }: Envelope,
  context: string,
): string | undefined {
  const dataKey = decrypt(key, wrapped_key, context);
  return dataKey && decrypt(createSecretKey(dataKey), sealed, context)?.toString();
}

/** The key of an envelope under another wrapping key; undefined as for {@link open}. */
export function rewrap(
  from: WrappingKey,
  to: WrappingKey,
  { wrapped_key }: Envelope,
  context: string,
): Omit<Envelope, 'sealed'> | undefined {
  const dataKey = decrypt(from.key, wrapped_key, context);
  return dataKey && wrap(to, dataKey, context);
}

const wrap = ({ id, key }: WrappingKey, dataKey: Buffer, context: string): Omit<Envelope, 'sealed'> => ({
  key_id: id,
  wrapped_key: encrypt(key, dataKey, context),
});
