import { Injectable, OnModuleInit } from '@nestjs/common';
import { connectionChanged, GrantedConnections } from '../../../connections/integrations/index.js';
import { Events } from '../../../platform/events/index.js';
import { Deployer } from '../deploying/deployer.js';
import { RunEnds } from '../running/run-ends.js';
import { CONNECTION_UNUSABLE, ConnectionUseStore } from './connection-use.store.js';

/**
 * Automations use the connections that their files list, and no others. Those that list one that cannot be used are paused
 * at once, and resume by themselves when it can be used again.
 */
@Injectable()
export class ConnectionPauses implements OnModuleInit {
  constructor(
    private readonly use: ConnectionUseStore,
    private readonly deployer: Deployer,
    private readonly ends: RunEnds,
    private readonly events: Events,
    private readonly granted: GrantedConnections,
  ) {}

  onModuleInit(): void {
    this.granted.limitBy(actor => this.use.listedFor(actor));
    this.events.on(connectionChanged, async (unit, { connection_id, name, state }) => {
      if (state === 'active')
        for (const id of await this.use.freedBy(unit, connection_id)) await this.deployer.resume(unit, id);
      else if (state !== 'pending')
        for (const id of await this.use.dependingOn(unit, connection_id))
          await this.ends.pause(unit, id, `${CONNECTION_UNUSABLE}: ${WHY[state]} (${name})`);
    });
  }
}

const WHY = {
  needs_reauth: 'a connection that it lists has to be authorized again',
  error: 'the service of a connection that it lists does not take it',
  revoked: 'a connection that it lists was revoked',
  deleted: 'a connection that it lists was deleted',
};
