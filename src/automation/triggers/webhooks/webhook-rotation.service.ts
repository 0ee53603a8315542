import { Injectable } from '@nestjs/common';
import type { Actor } from '../../../platform/access/index.js';
import { Action } from '../../../platform/actions/index.js';
import { Audit } from '../../../platform/audit/index.js';
import { Database, databaseTime } from '../../../platform/database/index.js';
import { ById } from '../../../platform/dto/index.js';
import { Invalid, NotFound } from '../../../platform/errors/index.js';
import { DeploymentsStore, type TriggerRow, TriggerSecretView } from '../../automation/index.js';
import { HooksStore } from './hooks.store.js';
import { OVERLAP_MS, WebhookSecrets } from './webhook-secrets.js';
import { ClosedWebhookView, RotateSecret } from './webhooks.dto.js';

/** Replaces the secrets and the addresses of webhooks. */
@Injectable()
export class WebhookRotation {
  constructor(
    private readonly database: Database,
    private readonly deployments: DeploymentsStore,
    private readonly hooks: HooksStore,
    private readonly secrets: WebhookSecrets,
    private readonly audit: Audit,
  ) {}

  @Action('automation_secret_rotate', 'POST /api/automation/deployments/:id/rotate-secret', {
    on: { id: 'deployment' },
    summary: 'Give a webhook of an automation another secret, or another address',
    description: 'What it had before is good for 24 hours more. What is answered is shown this once.',
    consequence: 'Whoever has the new one can start the automation.',
    permission: 'automation.deploy',
    input: RotateSecret,
    output: TriggerSecretView,
    commitsAnswer: true,
    refuses: { 404: 'No such deployment or trigger' },
  })
  async rotate(actor: Actor, { id, trigger_id, secret, address }: RotateSecret): Promise<TriggerSecretView> {
    const deployment = await this.deployments.require(actor, 'automation.deploy', id);
    return this.database.transaction(async unit => {
      await this.deployments.lock(unit, id);
      const triggers = await this.deployments.triggers(id, unit);
      const trigger = triggers.find(each => each.id === trigger_id);
      if (!trigger) throw new NotFound('The deployment has no such trigger');
      const now = await databaseTime(unit);
      const { changes, shown } = this.changesOf(trigger, now, secret, address);
      await this.deployments.changeTrigger(unit, trigger_id, changes);
      const { organization_id, workspace_id, file_path } = deployment;
      const target = { type: 'automation', id, organization_id, workspace_id };
      const what = shown.url === null ? 'secret' : 'address';
      await this.audit.record(unit, actor, 'automation.secret_rotate', target, {
        file_path,
        trigger_id,
        what,
      });
      return unit.answers({ trigger_id, ...shown });
    });
  }

  @Action('automation_webhook_delete', 'DELETE /api/automation/webhooks/:triggerId', {
    on: { trigger_id: 'automation_trigger' },
    summary: 'End the address of a webhook of an automation; deployed again, it gets another one',
    consequence: 'Those who have the address can start the automation no more.',
    permission: 'automation.manage',
    input: ById({ trigger_id: 'The trigger, a webhook' }),
    output: ClosedWebhookView,
  })
  async close(actor: Actor, { trigger_id }: ById<'trigger_id'>): Promise<ClosedWebhookView> {
    const hook = await this.hooks.require(actor, 'automation.manage', trigger_id);
    await this.database.transaction(async unit => {
      await this.deployments.lock(unit, hook.deployment_id);
      await this.deployments.changeTrigger(unit, trigger_id, { token_hash: null, old_token_hash: null });
      const { deployment_id: id, organization_id, workspace_id, file_path } = hook;
      const target = { type: 'automation', id, organization_id, workspace_id };
      await this.audit.record(unit, actor, 'automation.webhook_delete', target, { file_path, trigger_id });
    });
    return { trigger_id, deployment_id: hook.deployment_id };
  }

  private changesOf(trigger: TriggerRow, now: Date, given: string | undefined, wantsAddress = false) {
    const { config } = trigger;
    if (config.kind !== 'webhook') throw new Invalid('Only webhooks have a secret; trigger_id is none');
    if (wantsAddress || config.verify === 'token') {
      if (given !== undefined)
        throw new Invalid(
          'This webhook has no secret but its address; leave secret out to get a new address',
        );
      const { url, tokenHash } = this.secrets.newAddress();
      const old_token_until = new Date(now.getTime() + OVERLAP_MS).toISOString();
      const changes = { token_hash: tokenHash, old_token_hash: trigger.token_hash, old_token_until };
      return { changes, shown: { url, secret: null } };
    }
    const secret = given ?? this.secrets.newSecret(config.verify);
    if (secret === null)
      throw new Invalid(`Give the signing secret that ${config.verify} shows for this webhook as secret`);
    const changes = { secrets: this.secrets.replaced(trigger, secret, now) };
    return { changes, shown: { url: null, secret: given === undefined ? secret : null } };
  }
}
