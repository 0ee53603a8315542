import { isIP } from 'node:net';
import { hostname } from 'node:os';
import {
  asChoice,
  asHost,
  asInteger,
  asNames,
  bytes,
  count,
  InvalidSetting,
  limits,
  optional,
  type Parse,
  setting,
} from '#libs/env-settings/index.js';
import { asRegistries, MEBIBYTE } from './setting.js';

const LABEL = /^[a-z\d]([a-z\d-]{0,61}[a-z\d])?$/;

const asDomain: Parse<string> = (raw, name) => {
  const domain = raw.toLowerCase().replace(/\.$/, '');
  const labels = domain.split('.');
  const isName = labels.every(label => LABEL.test(label)) && !/^\d+$/.test(labels.at(-1) ?? '');
  if (!isName) throw new InvalidSetting(`${name} must be a domain such as example.app, not "${raw}".`);
  return domain;
};

/** An address, with a port or without: `9.9.9.9`, `127.0.0.1:5353`, `[::1]:5353`. */
const asNameServers: Parse<string[]> = (raw, name) =>
  asNames(raw, name).map(server => {
    const address = server.replace(/:\d{1,5}$/, '').replace(/^\[|\]$/g, '');
    if (isIP(address) === 0 && isIP(server) === 0)
      throw new InvalidSetting(
        `${name} must list addresses of name servers, such as 9.9.9.9, not "${server}".`,
      );
    return server;
  });

const asPort = asInteger(0, 65_535);

const asInternalAddress: Parse<{ host: string; port: number }> = (raw, name) => {
  const colon = raw.lastIndexOf(':');
  const host = colon < 0 ? hostname() : asHost(raw.slice(0, colon).replace(/^\[(.*)\]$/, '$1'), name);
  return { host, port: asPort(raw.slice(colon + 1), `The port of ${name}`) };
};

/** Sites and servers, on hosts of their own. */
export const hostingSettings = {
  hostingDomain: optional(
    'HOSTING_DOMAIN',
    'Domain of sites (NAME.sites.DOMAIN) and servers (NAME.servers.DOMAIN), best one that nothing else runs on. Unset: the host of PUBLIC_URL, or localhost on this machine.',
    asDomain,
  ),
  hostingDns: setting(
    'HOSTING_DNS',
    'Name servers that are asked whether a custom host belongs to who wants it, as 9.9.9.9 or 127.0.0.1:5353, separated by commas. Unset: those of this machine.',
    asNameServers,
    [] as string[],
  ),
  gatewayProcesses: setting(
    'GATEWAY_PROCESSES',
    'Processes that one with ROLE=gateway starts, all of them on PORT; the metrics of each are on METRICS_PORT and the ports after it.',
    asInteger(1, 256),
    1,
  ),
  gatewayOffload: setting(
    'GATEWAY_OFFLOAD',
    'Who sends the bytes of files to browsers: none (this service) or nginx, which is told by X-Accel-Redirect and must be one of TRUSTED_PROXIES; see docker/nginx.conf.',
    asChoice(['none', 'nginx']),
    'none',
  ),
  serverLimits: limits('SERVER_LIMITS', 'Servers that run, those that sleep included.', {
    organization: count('servers of one organization', 20, [0, 100_000]),
    process: count('servers in one process of the service; 0: it runs none', 20, [0, 10_000]),
    memory: bytes('most memory that one server may name', 2048 * MEBIBYTE, [
      32 * MEBIBYTE,
      Number.MAX_SAFE_INTEGER,
    ]),
    idle_seconds: count(
      'time without requests after which a server that names none sleeps until the next; 0: it never does',
      0,
      [0, 31_536_000],
    ),
  }),
  internalAddress: optional(
    'INTERNAL_ADDRESS',
    'Where gateways on other machines reach a process that runs servers, over TLS: a port, or an address of this machine with one, such as worker-1.internal:7000. Unset: only the same machine reaches it. A port alone: under the host name.',
    asInternalAddress,
  ),
  siteLimits: limits('SITE_LIMITS', 'What one site may have.', {
    files: count('files of one version', 20_000, [1, 1_000_000]),
    bytes: bytes('size of one version', 1024 * MEBIBYTE),
    versions: count(
      'versions that are kept, besides those that are pinned, live or were live lately',
      20,
      [1, 100_000],
    ),
  }),
  siteBuildEgress: setting(
    'SITE_BUILD_EGRESS',
    'What builds of sites connect to: registries (npm registries, while dependencies are installed, and nothing else), workspace (the hosts that admins of the workspace list as well), or none. SANDBOX_EGRESS=none goes before.',
    asChoice(['registries', 'workspace', 'none']),
    'registries',
  ),
  siteBuildRegistries: optional(
    'SITE_BUILD_REGISTRIES',
    'npm registries that builds install from, separated by commas, e.g. https://npm.corp.example/; private addresses too. The first one where a project names none. Unset: https://registry.npmjs.org.',
    asRegistries,
  ),
  siteBuildLimits: limits('SITE_BUILD_LIMITS', 'What builds of sites may take.', {
    at_once: count('builds in one process at a time; others wait, organizations in turn', 2, [1, 1000]),
    memory: bytes('memory of one build', 2048 * MEBIBYTE, [64 * MEBIBYTE, Number.MAX_SAFE_INTEGER]),
    disk: bytes('size of the folder of one build, dependencies included', 4096 * MEBIBYTE, [
      16 * MEBIBYTE,
      Number.MAX_SAFE_INTEGER,
    ]),
    install_seconds: count('time to install the dependencies', 600, [1, 86_400]),
    build_seconds: count('time of the build once they are there', 900, [1, 86_400]),
  }),
} as const;
