import { Injectable, OnModuleInit } from '@nestjs/common';
import { shortName } from '#libs/plain-text/index.js';
import { connectorToolsChanged } from '../../../connections/connectors/index.js';
import { tokensChanged } from '../../../connections/tokens/index.js';
import { type Notice, Notifier } from '../delivery/index.js';
import { type ConnectorOwner, SourcesStore } from './sources.store.js';

const MAX_REASON = 300;

/** What becomes of connectors. Who may do something about it is notified. */
@Injectable()
export class ConnectorsSource implements OnModuleInit {
  constructor(
    private readonly notifier: Notifier,
    private readonly store: SourcesStore,
  ) {}

  onModuleInit(): void {
    this.notifier.on(connectorToolsChanged, 'connector.tools_changed', async facts => {
      const connector = await this.store.connector(facts.connector_id);
      if (!connector) return undefined;
      const { added, changed, removed, instructions_changed } = facts;
      const body = [
        said('Changed, and refused until somebody approves them again', changed),
        said('Gone', removed),
        said('New, and not approved yet', added),
        instructions_changed ? 'What it says to models has changed, too.' : '',
      ];
      return {
        ...about(connector, facts.check_id),
        title: `The tools of the connector “${shortName(connector.name)}” have changed`,
        body: body.filter(Boolean).join(' '),
      };
    });
    this.notifier.on(
      tokensChanged,
      'connector.needs_reauth',
      async ({ id, reason }) => {
        const connector = await this.store.connectorOfTokens(id);
        if (!connector) return undefined;
        const why = reason ? ` ${shortName(reason, MAX_REASON)}.` : '';
        return {
          ...about(connector, `${id}:${connector.lost_at}`),
          title: `The connector “${shortName(connector.name)}” has to be authorized again`,
          body: `Agents cannot use it until then; its tools and where it is used stay.${why}`,
        };
      },
      ({ kind, state }) => kind === 'connector' && state === 'needs_reauth',
    );
  }
}

const said = (what: string, names: readonly string[]): string =>
  names.length === 0 ? '' : `${what}: ${names.map(name => shortName(name)).join(', ')}.`;

/** Of an organization's those who manage it, else whose it is. */
const about = (
  { id, organization_id, user_id }: ConnectorOwner,
  what: string,
): Omit<Notice, 'title' | 'body'> => ({
  audience: user_id === null ? { organizationRoles: ['owner', 'admin'] } : { people: [user_id] },
  organization_id,
  workspace_id: null,
  about: what,
  data: { connector_id: id },
});
