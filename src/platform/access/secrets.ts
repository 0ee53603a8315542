import { createHash, randomBytes } from 'node:crypto';

/** A secret of 256 random bits, in base64url. */
export const randomSecret = (): string => randomBytes(32).toString('base64url');

/** What is stored of a secret with full entropy: its SHA-256. (Passwords, which have less, are hashed slowly.) */
export const hashSecret = (secret: string): string => createHash('sha256').update(secret).digest('base64url');
