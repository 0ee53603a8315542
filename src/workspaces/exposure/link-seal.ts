import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { TokenKey } from '../../identity/sessions/index.js';

const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Keeps tokens of links, and signs passes of visitors, with keys that follow from the installation's (HKDF, RFC 5869). */
@Injectable()
export class LinkSeal {
  constructor(private readonly key: TokenKey) {}

  /** Encrypts (AES-256-GCM) a token for the one link it belongs to. */
  close(linkId: string, token: string): string {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.derive('links'), iv).setAAD(Buffer.from(linkId));
    const sealed = Buffer.concat([cipher.update(token), cipher.final()]);
    return Buffer.concat([iv, sealed, cipher.getAuthTag()]).toString('base64url');
  }

  /** The token; null where the installation's key is another by now. */
  open(linkId: string, sealed: string): string | null {
    const bytes = Buffer.from(sealed, 'base64url');
    const decipher = createDecipheriv('aes-256-gcm', this.derive('links'), bytes.subarray(0, IV_BYTES))
      .setAAD(Buffer.from(linkId))
      .setAuthTag(bytes.subarray(-TAG_BYTES));
    const token = decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES));
    try {
      decipher.final();
    } catch {
      // The only thing that can fail: the tag does not fit the key.
      return null;
    }
    return token.toString();
  }

  sign(text: string): Buffer {
    return createHmac('sha256', this.derive('passes')).update(text).digest();
  }

  private derive(purpose: string): Buffer {
    return Buffer.from(hkdfSync('sha256', this.key.value, '', `atelier share ${purpose}`, 32));
  }
}
