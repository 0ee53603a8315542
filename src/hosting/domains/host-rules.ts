import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import { Invalid } from '../../platform/errors/index.js';

const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** A host as it is stored: in lower case, ASCII. 422 for what is none, or no name in the domain name system. */
export function hostOf(given: string): string {
  const host = domainToASCII(given.trim().replace(/\.$/, '')).toLowerCase();
  const labels = host.split('.');
  const isName = labels.length > 1 && host.length <= 243 && labels.every(label => LABEL.test(label));
  if (!isName || isIP(host) !== 0 || /^\d+$/.test(labels.at(-1) ?? '') || host.endsWith('.localhost'))
    throw new Invalid('host must be a full host name, such as docs.example.com');
  return host;
}
