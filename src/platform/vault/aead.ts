import { createCipheriv, createDecipheriv, type KeyObject, randomBytes } from 'node:crypto';

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
