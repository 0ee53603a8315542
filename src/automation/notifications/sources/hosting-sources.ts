import { shortName } from '#libs/plain-text/index.js';
import { domainFailed, domainFailing } from '../../../hosting/gateway/index.js';
import { sitePromoted, siteVersionBuilt, siteVersionFailed } from '../../../hosting/sites/index.js';
import { serverCrashed, serverFailed } from '../../../hosting/tunnels/index.js';
import { settlement, source } from './notification-source.js';
import type { Domain, Server, SiteVersion, SourcesStore } from './sources.store.js';

const MAX_REASON = 500;

const SITE_VERSION = {
  load: ({ version_id }: { version_id: string }, records: SourcesStore) => records.siteVersion(version_id),
  data: ({ id, site_id }: SiteVersion) => ({ site_id, version_id: id }),
  chain: ({ chain }: SiteVersion) => chain,
};

/** Whoever asked for the version is notified of its build. */
const SITE_BUILD = {
  ...SITE_VERSION,
  recipients: ({ created_by }: SiteVersion) => ({ people: [created_by] }),
  about: ({ id }: SiteVersion) => id,
};

const versionName = ({ number, name }: SiteVersion): string => `Version ${number} of “${shortName(name)}”`;

/** Whoever made the server is notified, and whoever started it. */
const SERVER = {
  load: ({ server_id }: { server_id: string }, records: SourcesStore) => records.server(server_id),
  recipients: ({ created_by, actor }: Server) => ({
    people: [...new Set([created_by, ...(actor ? [actor.id] : [])])],
  }),
  about: (_server: Server, { instance_id }: { instance_id: string }) => instance_id,
  data: ({ id }: Server) => ({ server_id: id }),
  chain: ({ actor }: Server) => actor?.chain,
};

type Host = Parameters<SourcesStore['failingDomain']>[0];

/** Whoever added the host is notified. */
const DOMAIN = {
  load: (host: Host, records: SourcesStore) => records.failingDomain(host),
  recipients: ({ created_by }: Domain) => ({ people: created_by === null ? [] : [created_by] }),
  about: ({ failing_since }: Domain, { target_id, host }: Host) => `${target_id} ${host} ${failing_since}`,
  data: (_domain: Domain, { kind, target_id, host }: Host) => ({ [`${kind}_id`]: target_id, host }),
};

const problemOf = ({ problem }: Domain): string => problem ?? 'The record is missing';

/** Sites, servers and their own hosts. */
export const HOSTING_SOURCES = {
  'site.version_failed': source({
    ...SITE_BUILD,
    on: siteVersionFailed,
    stillTrue: ({ state }) => state === 'failed',
    title: version => `${versionName(version)} could not be built`,
    body: ({ error }) => `${shortName(error ?? '', MAX_REASON)} What is live stays as it is.`,
  }),
  'site.version_ready': source({
    ...SITE_BUILD,
    on: siteVersionBuilt,
    stillTrue: ({ state, promotion }) => state === 'built' && promotion !== 'done',
    title: version => `${versionName(version)} is built`,
    body: ({ promotion_reason }) =>
      `It is not live. ${promotion_reason ?? 'Look at it on its own host, then promote it.'}`,
    settledBy: [settlement(sitePromoted, ({ version_id }) => version_id)],
  }),
  'site.promoted': source({
    ...SITE_VERSION,
    on: sitePromoted,
    // Whoever promoted it knows.
    recipients: ({ owner, created_by }, { by }) => ({
      people: [...new Set([owner, created_by])].filter(id => id !== by),
    }),
    about: (_version, { id }) => id,
    title: version => `${versionName(version)} went live`,
    body: (_version, { by }) =>
      by === null ? 'It went live as soon as it was built.' : 'Somebody promoted it.',
  }),

  'server.crashed': source({
    ...SERVER,
    on: serverCrashed,
    title: ({ name }) => `The server “${shortName(name)}” ended by itself`,
    body: ({ reason }) => `It is started again. ${shortName(reason ?? '', MAX_REASON)}`,
  }),
  'server.failed': source({
    ...SERVER,
    on: serverFailed,
    stillTrue: ({ state }) => state === 'failed',
    title: ({ name }) => `The server “${shortName(name)}” is not started any more`,
    body: ({ reason }) => `${shortName(reason ?? '', MAX_REASON)} Start it again once that is mended.`,
  }),

  'domain.failing': source({
    ...DOMAIN,
    on: domainFailing,
    stillTrue: ({ state }) => state === 'verified',
    title: ({ name }) => `The DNS record of ${name} is not found any more`,
    body: domain => `${problemOf(domain)}. It is still served for two weeks: put the record back until then.`,
  }),
  'domain.failed': source({
    ...DOMAIN,
    on: domainFailed,
    stillTrue: ({ state }) => state === 'failed',
    title: ({ name }) => `${name} is not served any more`,
    body: domain => `${problemOf(domain)}. Put the record back and verify the host again.`,
  }),
};
