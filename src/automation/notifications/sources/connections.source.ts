import { Injectable, OnModuleInit } from '@nestjs/common';
import { shortName } from '#libs/plain-text/index.js';
import { connectionExpiring, connectionNeedsReauth } from '../../../connections/integrations/index.js';
import { type Notice, Notifier } from '../delivery/index.js';
import { SourcesStore } from './sources.store.js';

const MAX_REASON = 300;

type Connection = NonNullable<Awaited<ReturnType<SourcesStore['connection']>>>;

/** Connections that stop working. Whose it is is notified; of the organization's, its owners and admins. */
@Injectable()
export class ConnectionsSource implements OnModuleInit {
  constructor(
    private readonly notifier: Notifier,
    private readonly store: SourcesStore,
  ) {}

  onModuleInit(): void {
    this.notifier.on(
      connectionNeedsReauth,
      'connection.needs_reauth',
      async ({ connection_id, revision }) => {
        const connection = await this.store.connection(connection_id);
        if (connection?.state !== 'needs_reauth') return undefined;
        const why = connection.reason ? ` ${shortName(connection.reason, MAX_REASON)}.` : '';
        return {
          ...about(connection, revision),
          title: `${nameOf(connection)} has to be authorized again`,
          body: `What uses it cannot go on until then.${why} It keeps its id and where it may be used.`,
        };
      },
    );
    this.notifier.on(connectionExpiring, 'connection.expiring', async ({ connection_id, ends_at }) => {
      const connection = await this.store.connection(connection_id);
      if (!connection || connection.state === 'needs_reauth') return undefined;
      return {
        ...about(connection, ends_at),
        title: `${nameOf(connection)} ends soon`,
        body: `It ends at ${ends_at}, unless a person authorizes it again before.`,
      };
    });
  }
}

const nameOf = ({ name, account }: Connection): string =>
  `The connection “${shortName(name)}”${account ? ` (${shortName(account.label)})` : ''}`;

const about = (
  { id, organization_id, user_id }: Connection,
  what: string,
): Omit<Notice, 'title' | 'body'> => ({
  audience: user_id ? { people: [user_id] } : { organizationRoles: ['owner', 'admin'] },
  organization_id,
  workspace_id: null,
  about: `${id}:${what}`,
  data: { connection_id: id },
});
