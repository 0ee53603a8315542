import { Injectable, OnModuleInit } from '@nestjs/common';
import { databaseTime, type UnitOfWork } from '../../../platform/database/index.js';
import {
  type DeploymentRow,
  DeploymentsStore,
  type TriggerChange,
  type TriggerFacts,
  type TriggerRow,
  type TriggerSecret,
  type TriggerSetup,
  TriggerSetups,
} from '../../automation/index.js';
import { WebhookSecrets } from './webhook-secrets.js';

/** What a webhook needs when it is deployed: an address, and a secret where its sender signs. */
@Injectable()
export class WebhookSetup implements TriggerSetup, OnModuleInit {
  readonly kind = 'webhook';

  constructor(
    private readonly setups: TriggerSetups,
    private readonly deployments: DeploymentsStore,
    private readonly secrets: WebhookSecrets,
  ) {}

  onModuleInit(): void {
    this.setups.add(this);
  }

  async begin(
    unit: UnitOfWork,
    _deployment: DeploymentRow,
    trigger: TriggerRow,
    { isNew, isDeployed }: TriggerChange,
  ): Promise<TriggerSecret | undefined> {
    const { config } = trigger;
    if (config.kind !== 'webhook') return undefined;
    const wantsSecret = config.verify !== 'token' && trigger.secrets.length === 0;
    const secret = wantsSecret ? this.secrets.newSecret(config.verify) : null;
    // One whose address was ended gets another one.
    const wantsAddress = isNew || (isDeployed && trigger.token_hash === null);
    if (!wantsAddress && secret === null) return undefined;
    const { url, tokenHash } = this.secrets.newAddress();
    await this.deployments.changeTrigger(unit, trigger.id, {
      ...(wantsAddress && { token_hash: tokenHash }),
      ...(secret !== null && { secrets: this.secrets.replaced(trigger, secret, await databaseTime(unit)) }),
    });
    return { url: wantsAddress ? url : null, secret };
  }

  facts(): TriggerFacts {
    return {};
  }
}
