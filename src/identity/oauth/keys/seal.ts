import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { TokenKey } from '../../sessions/index.js';

const IV_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Encrypts what the database keeps of the authorization server (AES-256-GCM, with a key derived from the installation's
 * token key by HKDF, RFC 5869). Each text is bound to its `place`, so that rows cannot be swapped.
 */
@Injectable()
export class OAuthSeal {
  constructor(private readonly tokenKey: TokenKey) {}

  close(place: string, content: unknown): Buffer {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.key('seal'), iv).setAAD(Buffer.from(place));
    const inside = [cipher.update(JSON.stringify(content)), cipher.final()];
    return Buffer.concat([iv, ...inside, cipher.getAuthTag()]);
  }

  /** undefined for what was not closed at this place with this key. */
  open<T>(place: string, sealed: Buffer): T | undefined {
    if (sealed.length < IV_BYTES + TAG_BYTES) return undefined;
    const decipher = createDecipheriv('aes-256-gcm', this.key('seal'), sealed.subarray(0, IV_BYTES));
    decipher.setAAD(Buffer.from(place)).setAuthTag(sealed.subarray(-TAG_BYTES));
    try {
      const inside = decipher.update(sealed.subarray(IV_BYTES, -TAG_BYTES));
      return JSON.parse(Buffer.concat([inside, decipher.final()]).toString()) as T;
    } catch {
      // Another installation key, or not ours at all: as good as not there.
      return undefined;
    }
  }

  /** A key for a purpose of its own. */
  key(purpose: string): Buffer {
    return Buffer.from(hkdfSync('sha256', this.tokenKey.value, '', `atelier oauth ${purpose}`, 32));
  }
}
