import { isIP } from 'node:net';
import {
  asChoice,
  asHost,
  asInteger,
  asNames,
  InvalidSetting,
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
  hostedRequestsPerMinute: setting(
    'HOSTED_REQUESTS_PER_MINUTE',
    'Requests a minute that one address may make to one site or server, in each process; 0 for any number.',
    asInteger(0, 10_000_000),
    6000,
  ),
  maxSites: setting('MAX_SITES', 'Sites of one workspace.', asInteger(0, 100_000), 50),
  maxServers: setting('MAX_SERVERS', 'Servers of one workspace.', asInteger(0, 100_000), 20),
  maxRunningServers: setting(
    'MAX_RUNNING_SERVERS',
    'Servers of one organization that run at a time, those that sleep included.',
    asInteger(0, 100_000),
    20,
  ),
  serverMemoryBytes: setting(
    'SERVER_MEMORY_BYTES',
    'Memory of a server that names none.',
    asInteger(32 * MEBIBYTE, Number.MAX_SAFE_INTEGER),
    512 * MEBIBYTE,
  ),
  maxServerMemoryBytes: setting(
    'MAX_SERVER_MEMORY_BYTES',
    'Most memory that one server may name.',
    asInteger(32 * MEBIBYTE, Number.MAX_SAFE_INTEGER),
    2048 * MEBIBYTE,
  ),
  serversPerWorker: setting(
    'SERVERS_PER_WORKER',
    'Servers that one process runs at a time; 0: it runs none.',
    asInteger(0, 10_000),
    20,
  ),
  internalPort: optional(
    'INTERNAL_PORT',
    'Port on which processes that run servers are reached by gateways on other machines, over TLS; unset: only from the same machine.',
    asInteger(0, 65535),
  ),
  internalHost: optional(
    'INTERNAL_HOST',
    'Address under which other machines reach INTERNAL_PORT of this one. Unset: its host name.',
    asHost,
  ),
  serverSleepSeconds: setting(
    'SERVER_SLEEP_SECONDS',
    'Seconds without requests after which a server is stopped until the next one, where it names none itself; 0: never.',
    asInteger(0, 31_536_000),
    0,
  ),
  siteMaxFiles: setting('SITE_MAX_FILES', 'Files of one version of a site.', asInteger(1, 1_000_000), 20_000),
  siteMaxBytes: setting(
    'SITE_MAX_BYTES',
    'Bytes of one version of a site.',
    asInteger(1, Number.MAX_SAFE_INTEGER),
    1024 * MEBIBYTE,
  ),
  siteKeepVersions: setting(
    'SITE_KEEP_VERSIONS',
    'Versions of a site whose files are kept, newest first, besides those that are pinned, live or were live lately.',
    asInteger(1, 100_000),
    20,
  ),
  siteKeepDays: setting(
    'SITE_KEEP_DAYS',
    'Days for which the files of a version are kept that was live, and the logs of builds that failed.',
    asInteger(1, 36_500),
    30,
  ),
  siteBuildConcurrency: setting(
    'SITE_BUILD_CONCURRENCY',
    'Builds of sites that one process runs at a time; the others wait, organizations in turn.',
    asInteger(1, 1000),
    2,
  ),
  gatewayCacheBytes: setting(
    'GATEWAY_CACHE_BYTES',
    'Memory that one process takes to keep small files of sites.',
    asInteger(0, Number.MAX_SAFE_INTEGER),
    64 * MEBIBYTE,
  ),
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
  siteBuildMemoryBytes: setting(
    'SITE_BUILD_MEMORY_BYTES',
    'Most memory of one build.',
    asInteger(64 * MEBIBYTE, Number.MAX_SAFE_INTEGER),
    2048 * MEBIBYTE,
  ),
  siteBuildDiskBytes: setting(
    'SITE_BUILD_DISK_BYTES',
    'Most bytes that the folder of one build may take, dependencies included.',
    asInteger(16 * MEBIBYTE, Number.MAX_SAFE_INTEGER),
    4096 * MEBIBYTE,
  ),
  siteInstallSeconds: setting(
    'SITE_INSTALL_SECONDS',
    'Longest that the dependencies of a site may take to install.',
    asInteger(1, 86400),
    600,
  ),
  siteBuildSeconds: setting(
    'SITE_BUILD_SECONDS',
    'Longest that the build of a site may take once its dependencies are there.',
    asInteger(1, 86400),
    900,
  ),
} as const;
