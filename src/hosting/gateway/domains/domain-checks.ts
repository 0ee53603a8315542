import { Injectable } from '@nestjs/common';
import { Database, type UnitOfWork } from '../../../platform/database/index.js';
import { Conflict } from '../../../platform/errors/index.js';
import { Events } from '../../../platform/events/index.js';
import { Chore } from '../../../platform/jobs/index.js';
import { HostNames } from '../hosts/host-names.js';
import { domainFailed, domainFailing } from './domain-events.js';
import { type DomainRow, DomainsStore } from './domains.store.js';
import { HostProofs } from './host-proofs.js';

const HOUR_MS = 3_600_000;
const MAX_AT_ONCE = 200;

@Injectable()
export class DomainChecks {
  constructor(
    private readonly database: Database,
    private readonly store: DomainsStore,
    private readonly proofs: HostProofs,
    private readonly names: HostNames,
    private readonly events: Events,
  ) {}

  /** Serves the host if its record is found. Throws Conflict (409) if another target rightfully has it. */
  async verify(row: DomainRow): Promise<boolean> {
    const problem = await this.proofs.check(row.name, row.proof ?? '');
    if (problem !== undefined) {
      await this.note(row, problem);
      return false;
    }
    await this.takeOver(row);
    const isOurs = await this.database.transaction(async unit => {
      await this.changed(unit);
      return this.store.verified(unit, row);
    });
    if (!isOurs) throw servedElsewhere(row);
    return true;
  }

  changed(unit: UnitOfWork): Promise<void> {
    return this.names.changed(unit);
  }

  @Chore('hosted_domains', { everyMs: HOUR_MS })
  async checkAgain(): Promise<void> {
    for (const row of await this.store.due(MAX_AT_ONCE)) await this.verify(row).catch(ignoreConflict);
    await this.store.forgetPending();
  }

  /** Ends serving for a previous holder whose record is gone. */
  private async takeOver(row: DomainRow): Promise<void> {
    const other = await this.store.verifiedElsewhere({ kind: row.kind, id: row.target_id }, row.name);
    if (!other) return;
    const lost = await this.proofs.check(other.name, other.proof ?? '');
    if (lost === undefined) throw servedElsewhere(row);
    await this.note(other, lost, { atOnce: true });
  }

  private async note(row: DomainRow, problem: string, how: { atOnce?: boolean } = {}): Promise<void> {
    await this.database.transaction(async unit => {
      const change = await this.store.failing(unit, row, problem, how);
      const { kind, target_id, name: host } = row;
      if (change === 'failing') await this.events.publish(unit, domainFailing, { kind, target_id, host });
      if (change === 'failed') await this.events.publish(unit, domainFailed, { kind, target_id, host });
      await this.changed(unit);
    });
  }
}

const servedElsewhere = ({ name }: DomainRow) =>
  new Conflict(
    `Another site is served on ${name}, and its DNS record is still there; remove that record first`,
  );

function ignoreConflict(error: unknown): void {
  if (!(error instanceof Conflict)) throw error;
}
