import { isIP } from 'node:net';
import { asHost, InvalidSetting, optional } from '#libs/env-settings/index.js';

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
} as const;
