import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isIP } from 'node:net';
import { createSecureContext, type SecureContext } from 'node:tls';
import { bits, context, identifier, integer, isTrue, octets, sequence, setOf, text, time } from './der.js';

const DAY_MS = 86_400_000;
const AUTHORITY_DAYS = 3_650;
const LEAF_DAYS = 90;
/** Clocks of programs may differ from ours. */
const BEFORE_DAYS = 1;

const ECDSA_SHA256 = sequence(identifier('1.2.840.10045.4.3.2'));
const CERT_SIGN_AND_CRL_SIGN = bits(Buffer.of(0b0000_0110), 1);
const DIGITAL_SIGNATURE = bits(Buffer.of(0b1000_0000), 7);

interface Keys {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

interface Leaf {
  readonly context: SecureContext;
  readonly renewAt: number;
}

/**
 * Issues certificates of hosts to one sandbox. Its key is made here, is never written anywhere, and ends with the process;
 * whoever trusts its certificate trusts this object and nothing else.
 */
export class CertificateAuthority {
  private readonly keys = newKeys();
  /** Of all hosts: they are served by the same process. */
  private readonly leafKeys = newKeys();
  private readonly name: Buffer;
  private readonly leaves = new Map<string, Leaf>();
  /** Its own certificate, in PEM. */
  readonly certificate: string;

  constructor(commonName: string) {
    this.name = nameOf(commonName);
    const { publicKey } = this.keys;
    this.certificate = this.issue(this.name, publicKey, AUTHORITY_DAYS, [
      extension('2.5.29.19', sequence(isTrue, integer(Buffer.of(0))), true),
      extension('2.5.29.15', CERT_SIGN_AND_CRL_SIGN, true),
      extension('2.5.29.14', octets(keyId(publicKey))),
    ]);
  }

  /** What a TLS server presents as `host`, a name or an IP address. */
  contextFor(host: string): SecureContext {
    const kept = this.leaves.get(host);
    if (kept && Date.now() < kept.renewAt) return kept.context;
    const leaf = {
      context: createSecureContext({
        cert: this.leafFor(host),
        key: this.leafKeys.privateKey.export({ type: 'pkcs8', format: 'pem' }),
      }),
      renewAt: Date.now() + (LEAF_DAYS / 2) * DAY_MS,
    };
    this.leaves.set(host, leaf);
    return leaf.context;
  }

  leafFor(host: string): string {
    const { publicKey } = this.leafKeys;
    const alternative =
      isIP(host) === 0
        ? context(2, Buffer.from(host, 'latin1'), false)
        : context(7, addressBytes(host), false);
    // RFC 5280, section 4.1.2.6: a subject may be empty where there is an alternative name; then that is critical.
    return this.issue(sequence(), publicKey, LEAF_DAYS, [
      extension('2.5.29.19', sequence(), true),
      extension('2.5.29.15', DIGITAL_SIGNATURE, true),
      extension('2.5.29.37', sequence(identifier('1.3.6.1.5.5.7.3.1'))),
      extension('2.5.29.17', sequence(alternative), true),
      extension('2.5.29.14', octets(keyId(publicKey))),
      extension('2.5.29.35', sequence(context(0, keyId(this.keys.publicKey), false))),
    ]);
  }

  private issue(subject: Buffer, key: KeyObject, days: number, extensions: readonly Buffer[]): string {
    const now = Date.now();
    const validity = [now - BEFORE_DAYS * DAY_MS, now + days * DAY_MS].map(ms => time(new Date(ms)));
    const signed = sequence(
      context(0, integer(Buffer.of(2))),
      integer(randomBytes(16)),
      ECDSA_SHA256,
      this.name,
      sequence(...validity),
      subject,
      key.export({ type: 'spki', format: 'der' }),
      context(3, sequence(...extensions)),
    );
    const certificate = sequence(signed, ECDSA_SHA256, bits(sign('sha256', signed, this.keys.privateKey)));
    const lines = certificate.toString('base64').match(/.{1,64}/g) ?? [];
    return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
  }
}

const newKeys = (): Keys => generateKeyPairSync('ec', { namedCurve: 'P-256' });

const nameOf = (commonName: string): Buffer =>
  sequence(setOf(sequence(identifier('2.5.4.3'), text(commonName))));

const extension = (id: string, value: Buffer, isCritical = false): Buffer =>
  sequence(identifier(id), ...(isCritical ? [isTrue] : []), octets(value));

/** RFC 7093, section 2: any hash will do that tells keys apart. */
const keyId = (key: KeyObject): Buffer =>
  createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest()
    .subarray(0, 20);

function addressBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split('.').map(Number));
  const [head = '', tail] = address.toLowerCase().split('::');
  const groups = (part: string | undefined) => (part ? part.split(':') : []).flatMap(groupBytes);
  const [before, after] = [groups(head), groups(tail)];
  return Buffer.from([...before, ...Array(16 - before.length - after.length).fill(0), ...after]);
}

function groupBytes(group: string): number[] {
  if (group.includes('.')) return group.split('.').map(Number);
  const value = Number.parseInt(group, 16);
  return [value >> 8, value & 0xff];
}
