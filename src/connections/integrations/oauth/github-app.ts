import { createPrivateKey, type KeyObject } from 'node:crypto';
import { SignJWT } from 'jose';
import { Invalid } from '../../../platform/errors/index.js';

const MINUTES = 9;

/** JWT that authenticates a GitHub App for nine minutes. Throws Invalid for a key that is not RSA. */
export async function appToken(appId: string, privateKey: string): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  return (
    new SignJWT({})
      .setProtectedHeader({ alg: 'RS256' })
      .setIssuer(appId)
      // Clocks differ.
      .setIssuedAt(now - 30)
      .setExpirationTime(now + MINUTES * 60)
      .sign(readKey(privateKey))
  );
}

function readKey(pem: string): KeyObject {
  try {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyType === 'rsa') return key;
  } catch {
    // What OpenSSL says of it may hold a part of it.
  }
  throw new Invalid('fields.private_key must be an RSA private key in PEM');
}
