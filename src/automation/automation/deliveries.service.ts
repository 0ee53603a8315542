import { Injectable } from '@nestjs/common';
import { parseJson } from '#libs/exact-json/index.js';
import { type Actor, requireScope, type WorkspacePermission } from '../../platform/access/index.js';
import { Action, Subject } from '../../platform/actions/index.js';
import { ById, type Page, toView } from '../../platform/dto/index.js';
import { Conflict, NotFound, unseenAs } from '../../platform/errors/index.js';
import { WorkspacesStore } from '../../workspaces/core/index.js';
import { AskedRuns } from './asking/asked-runs.js';
import { AutomationRunsStore } from './records/automation-runs.store.js';
import { DeliveriesStore, type DeliveryRow } from './records/deliveries.store.js';
import { DeploymentsStore } from './records/deployments.store.js';
import {
  AutomationRunView,
  DeliveryPage,
  DeliveryView,
  ListDeliveries,
  ReplayDelivery,
} from './views/automations.dto.js';

/** What is longer is for runs alone. */
const MAX_SHOWN_BYTES = 4 * 1024 * 1024;

type Asked = DeliveryRow & { readonly organization_id: string };

/** What came in for automations, with the reason where it led to no run. */
@Injectable()
export class DeliveriesService {
  constructor(
    private readonly workspaces: WorkspacesStore,
    private readonly deployments: DeploymentsStore,
    private readonly deliveries: DeliveriesStore,
    private readonly runs: AutomationRunsStore,
    private readonly asked: AskedRuns,
  ) {}

  @Action('automation_delivery_list', 'GET /api/automation/deliveries', {
    on: { workspace_id: 'workspace', deployment_id: 'deployment' },
    summary: 'List what came in for automations, newest first, with the reason where it led to no run',
    permission: 'automation.read',
    input: ListDeliveries,
    output: DeliveryPage,
    refuses: { 404: 'No such workspace or deployment' },
  })
  async list(actor: Actor, input: ListDeliveries): Promise<Page<DeliveryView>> {
    const { workspace_id, deployment_id } = input;
    requireScope(actor, 'automation.read');
    if (workspace_id) await this.workspaces.require(actor, 'automation.read', workspace_id);
    if (deployment_id) await this.deployments.require(actor, 'automation.read', deployment_id);
    const page = await this.deliveries.list(actor, input);
    return { ...page, items: page.items.map(viewOf) };
  }

  @Action('automation_delivery_get', 'GET /api/automation/deliveries/:id', {
    on: { id: 'automation_delivery' },
    summary: 'Read what came in for an automation, with its payload while that is kept',
    permission: 'automation.read',
    input: ById({ id: 'The delivery' }),
    output: DeliveryView,
  })
  async read(actor: Actor, { id }: ById): Promise<DeliveryView> {
    const delivery = await this.require(actor, 'automation.read', id);
    if (delivery.payload_bytes > MAX_SHOWN_BYTES) return viewOf(delivery);
    const payload = await this.deliveries.payloadOf(delivery);
    return { ...viewOf(delivery), ...(payload && { payload: parseJson(payload.toString()) }) };
  }

  @Action('automation_delivery_replay', 'POST /api/automation/deliveries/:id/replay', {
    on: { id: 'automation_delivery' },
    summary:
      'Start an automation with what came in before, whatever became of that, on the authority of the caller',
    permission: 'automation.run',
    input: ReplayDelivery,
    output: AutomationRunView,
    commitsAnswer: true,
    refuses: { 404: 'No such delivery', 409: 'What came in, or its version, is not kept any more' },
  })
  async replay(actor: Actor, { id, version = 'live' }: ReplayDelivery): Promise<AutomationRunView> {
    const delivery = await this.require(actor, 'automation.run', id);
    if (!delivery.deployment_id) throw new Conflict('It was brought to a draft; start that again');
    const run = delivery.run_id ? await this.runs.find(delivery.run_id) : undefined;
    return this.asked.again(actor, delivery, run, version);
  }

  @Subject('automation_delivery', 'workspace', ({ organization_id, workspace_id }: Asked) => ({
    organization_id,
    workspace_id,
  }))
  private async require(actor: Actor, permission: WorkspacePermission, id: string): Promise<Asked> {
    const row = await this.deliveries.find(id);
    if (!row) throw new NotFound('No such delivery');
    const asked = this.workspaces.require(actor, permission, row.workspace_id);
    const { organization_id } = await unseenAs('No such delivery', asked);
    return { ...row, organization_id };
  }
}

function viewOf(row: DeliveryRow): DeliveryView {
  return toView(DeliveryView, row);
}
