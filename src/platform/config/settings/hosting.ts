import { isIP } from 'node:net';
import { asHost, asInteger, InvalidSetting, optional, setting } from '#libs/env-settings/index.js';

/** Sites and servers, on hosts of their own. */
export const hostingSettings = {
  hostingDomain: optional(
    'HOSTING_DOMAIN',
    'Domain of sites (NAME.sites.DOMAIN) and servers (NAME.servers.DOMAIN), best one that nothing else runs on. Unset: the host of PUBLIC_URL, or localhost on this machine.',
    (raw, name) => {
      if (isIP(raw) !== 0)
        throw new InvalidSetting(`${name} must be a domain such as example.app, not an IP address.`);
      return asHost(raw, name).toLowerCase().replace(/\.$/, '');
    },
  ),
  hostedRequestsPerMinute: setting(
    'HOSTED_REQUESTS_PER_MINUTE',
    'Requests a minute that one address may make to one site or server, in each process; 0 for any number.',
    asInteger(0, 10_000_000),
    6000,
  ),
} as const;
