import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { getCACertificates } from 'node:tls';
import type { CertificateAuthority } from '#libs/egress-proxy/index.js';

/** Where systems keep the certificates that programs trust, all in one file. */
const SYSTEM_BUNDLES = ['/etc/ssl/certs/ca-certificates.crt', '/etc/pki/tls/certs/ca-bundle.crt'];
export const PLACEHOLDER = 'atelier-placeholder';

const OWN = 'ca.pem';
const BUNDLE = 'ca-bundle.pem';

/** Where programs of a sandbox find whom to trust: all that the system does, and the sandbox's own authority. */
export class Trust {
  private static system: string | undefined;

  /** @param folder of the host, seen inside as `inside` */
  static async write(authority: CertificateAuthority, folder: string): Promise<void> {
    Trust.system ??= systemBundle();
    const options = { mode: 0o444 };
    await writeFile(path.join(folder, OWN), authority.certificate, options);
    await writeFile(path.join(folder, BUNDLE), `${Trust.system}\n${authority.certificate}`, options);
  }

  /** What makes curl, git, Node, Python, pip, and what uses OpenSSL find them. */
  static variables(inside: string): Record<string, string> {
    const bundle = `${inside}/${BUNDLE}`;
    return {
      SSL_CERT_FILE: bundle,
      REQUESTS_CA_BUNDLE: bundle,
      CURL_CA_BUNDLE: bundle,
      GIT_SSL_CAINFO: bundle,
      PIP_CERT: bundle,
      // These are read besides what Node.js trusts already.
      NODE_EXTRA_CA_CERTS: `${inside}/${OWN}`,
    };
  }
}

function systemBundle(): string {
  const extra = getCACertificates('extra');
  for (const file of SYSTEM_BUNDLES) {
    const found = readIfThere(file);
    if (found !== undefined) return [found, ...extra].join('\n');
  }
  return getCACertificates('default').join('\n');
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
