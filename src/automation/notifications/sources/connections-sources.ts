import { shortName } from '#libs/plain-text/index.js';
import { connectorToolsChanged } from '../../../connections/connectors/index.js';
import { gitCloned, gitCloneFailed } from '../../../connections/git-repos/index.js';
import { connectionExpiring, connectionNeedsReauth } from '../../../connections/integrations/index.js';
import { tokensChanged } from '../../../connections/stored-credentials/index.js';
import type { Audience } from '../types/notice.js';
import { source } from './notification-source.js';
import type { Clone, Connection, SourcesStore } from './sources.store.js';

const MAX_REASON = 300;

/** A personal one concerns its owner, any other the admins of its organization. */
const ownersOf = ({ user_id }: { user_id: string | null }): Audience =>
  user_id === null ? { organizationRoles: ['owner', 'admin'] } : { people: [user_id] };

const because = (reason: string | null | undefined): string =>
  reason ? ` ${shortName(reason, MAX_REASON)}.` : '';

const listed = (what: string, names: readonly string[]): string =>
  names.length === 0 ? '' : `${what}: ${names.map(name => shortName(name)).join(', ')}.`;

const CONNECTION = {
  load: ({ connection_id }: { connection_id: string }, records: SourcesStore) =>
    records.connection(connection_id),
  recipients: ownersOf,
  data: ({ id }: Connection) => ({ connection_id: id }),
};

const nameOf = ({ name, account }: Connection): string =>
  `The connection “${shortName(name)}”${account ? ` (${shortName(account.label)})` : ''}`;

/** Whoever asked for the clone is notified. */
const CLONE = {
  load: ({ operation_id }: { operation_id: string }, records: SourcesStore) => records.clone(operation_id),
  recipients: ({ actor_id }: Clone) => ({ people: [actor_id] }),
  about: ({ id }: Clone) => id,
  data: ({ id, git_repo_id }: Clone) => ({ operation_id: id, git_repo_id }),
  chain: ({ chain }: Clone) => chain,
};

/** Connectors, connections to services, and Git repositories. */
export const CONNECTIONS_SOURCES = {
  'connector.tools_changed': source({
    on: connectorToolsChanged,
    load: ({ connector_id }, records) => records.connector(connector_id),
    recipients: connector => ownersOf(connector),
    about: (_connector, { check_id }) => check_id,
    title: ({ name }) => `The tools of the connector “${shortName(name)}” have changed`,
    body: (_connector, { added, changed, removed, instructions_changed }) =>
      [
        listed('Changed, and refused until somebody approves them again', changed),
        listed('Gone', removed),
        listed('New, and not approved yet', added),
        instructions_changed ? 'What it says to models has changed, too.' : '',
      ]
        .filter(Boolean)
        .join(' '),
    data: ({ id }) => ({ connector_id: id }),
  }),
  'connector.needs_reauth': source({
    on: tokensChanged,
    when: ({ kind, state }) => kind === 'connector' && state === 'needs_reauth',
    load: ({ id }, records) => records.connectorOfTokens(id),
    recipients: connector => ownersOf(connector),
    about: ({ lost_at }, { id }) => `${id}:${lost_at}`,
    title: ({ name }) => `The connector “${shortName(name)}” has to be authorized again`,
    body: (_connector, { reason }) =>
      `Agents cannot use it until then; its tools and where it is used stay.${because(reason)}`,
    data: ({ id }) => ({ connector_id: id }),
  }),

  'connection.needs_reauth': source({
    ...CONNECTION,
    on: connectionNeedsReauth,
    stillTrue: ({ state }) => state === 'needs_reauth',
    about: ({ id }, { revision }) => `${id}:${revision}`,
    title: connection => `${nameOf(connection)} has to be authorized again`,
    body: ({ reason }) =>
      `What uses it cannot go on until then.${because(reason)} It keeps its id and where it may be used.`,
  }),
  'connection.expiring': source({
    ...CONNECTION,
    on: connectionExpiring,
    stillTrue: ({ state }) => state !== 'needs_reauth',
    about: ({ id }, { ends_at }) => `${id}:${ends_at}`,
    title: connection => `${nameOf(connection)} ends soon`,
    body: (_connection, { ends_at }) => `It ends at ${ends_at}, unless a person authorizes it again before.`,
  }),

  'git.cloned': source({
    ...CLONE,
    on: gitCloned,
    stillTrue: ({ state }) => state === 'completed',
    title: ({ path }) => `The repository ${shortName(path)} is cloned`,
    body: () => 'Its files are in the workspace.',
  }),
  'git.clone_failed': source({
    ...CLONE,
    on: gitCloneFailed,
    stillTrue: ({ state }) => state === 'error',
    title: ({ path }) => `The repository ${shortName(path)} was not cloned`,
    body: ({ error }) => shortName(error ?? '', 500),
  }),
};
