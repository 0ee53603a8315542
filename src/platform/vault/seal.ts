import { createHmac, timingSafeEqual } from 'node:crypto';
import { decrypt, encrypt } from './aead.js';
import type { RootKey, RootKeys } from './root-keys.js';

/**
 * Seals and signs with keys that follow from the root keys, for one purpose. What it makes names its key, so that it opens
 * after a rotation; nothing of it is kept in the vault.
 */
export class Seal {
  constructor(
    private readonly roots: RootKeys,
    private readonly purpose: string,
  ) {}

  close(content: Buffer | string, context: string): Buffer {
    const { current } = this.roots;
    return Buffer.concat([current.header, encrypt(current.derive(this.purpose), content, context)]);
  }

  /** undefined for what was not closed here in this context. */
  open(sealed: Buffer, context: string): Buffer | undefined {
    const [root, rest] = this.roots.split(sealed);
    return root && decrypt(root.derive(this.purpose), rest, context);
  }

  /** A signature in base64url. */
  sign(text: string): string {
    return this.signature(this.roots.current, text).toString('base64url');
  }

  verify(text: string, signature: string): boolean {
    const given = Buffer.from(signature, 'base64url');
    const [root] = this.roots.split(given);
    if (!root || !this.roots.verifying(root.id)) return false;
    const expected = this.signature(root, text);
    return given.length === expected.length && timingSafeEqual(given, expected);
  }

  /** The keys themselves, for libraries that sign; the first signs, all of them verify. */
  keys(): Buffer[] {
    return this.roots.all.map(root => root.derive(this.purpose).export());
  }

  private signature(root: RootKey, text: string): Buffer {
    const mac = createHmac('sha256', root.derive(this.purpose)).update(text).digest();
    return Buffer.concat([root.header, mac]);
  }
}
