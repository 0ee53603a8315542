import { Injectable } from '@nestjs/common';
import type { UnitOfWork } from '../../../platform/database/index.js';
import type { TriggerKind } from '../file/automation-definition.js';
import type { DeploymentRow, TriggerRow } from '../records/deployments.store.js';

/** What is shown of a trigger besides what its file says. */
export interface TriggerFacts {
  readonly url?: string | null;
  readonly nextFires?: readonly Date[];
}

/** How a trigger differs from that of the version before. */
export interface TriggerChange {
  readonly isNew: boolean;
  readonly isChanged: boolean;
  /** It is deployed: who does that is shown what is new, as who resumes it or rolls it back is not. */
  readonly isDeployed: boolean;
}

/** An address, and the secret by which its sender signs: shown once. */
export interface TriggerSecret {
  /** null: it stays as it was. */
  readonly url: string | null;
  readonly secret: string | null;
}

/** What makes one kind of trigger work. */
export interface TriggerSetup {
  readonly kind: TriggerKind;
  /** Its deployment is live from now on, or live again. Secrets that are new are returned, to be shown once. */
  begin(
    unit: UnitOfWork,
    deployment: DeploymentRow,
    trigger: TriggerRow,
    change: TriggerChange,
  ): Promise<TriggerSecret | undefined>;
  facts(trigger: TriggerRow): TriggerFacts;
}

/** Each kind of trigger registers here while modules start. */
@Injectable()
export class TriggerSetups {
  private readonly setups = new Map<TriggerKind, TriggerSetup>();

  add(setup: TriggerSetup): void {
    if (this.setups.has(setup.kind)) throw new Error(`Two features have the trigger ${setup.kind}`);
    this.setups.set(setup.kind, setup);
  }

  of(kind: TriggerKind): TriggerSetup | undefined {
    return this.setups.get(kind);
  }
}
