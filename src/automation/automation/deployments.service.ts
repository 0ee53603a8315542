import { Injectable } from '@nestjs/common';
import type { Actor, WorkspacePermission } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { Audit } from '../../platform/audit/index.js';
import { Database, type UnitOfWork } from '../../platform/database/index.js';
import { ById, ListById, type Page, toView } from '../../platform/dto/index.js';
import { Conflict, NotFound } from '../../platform/errors/index.js';
import { WorkspacesStore } from '../../workspaces/core/index.js';
import { automationPathOf, targetOf } from './automations.service.js';
import { Deployer } from './deploying/deployer.js';
import { type DeploymentRow, DeploymentsStore, type VersionRow } from './records/deployments.store.js';
import {
  DeploymentView,
  PauseDeployment,
  RollBackDeployment,
  StopDeployment,
  VersionId,
  VersionPage,
  VersionView,
} from './views/automations.dto.js';
import { DeploymentViews } from './views/deployment-views.js';

/** Stops, pauses and resumes deployments, and makes older versions of them live. */
@Injectable()
export class DeploymentsService {
  constructor(
    private readonly database: Database,
    private readonly workspaces: WorkspacesStore,
    private readonly deployments: DeploymentsStore,
    private readonly deployer: Deployer,
    private readonly views: DeploymentViews,
    private readonly audit: Audit,
  ) {}

  @Action('automation_stop', 'POST /api/automation/deployments/stop', {
    summary:
      'Stop an automation: nothing starts it until it is deployed again. One that is stopped already stays so',
    description: 'Runs in flight go on, unless cancel_runs is true.',
    consequence: 'What would have started it meanwhile is not made up for.',
    permission: 'automation.manage',
    input: StopDeployment,
    output: DeploymentView,
    commitsAnswer: true,
    refuses: { 404: 'No such workspace, or the file was never deployed' },
  })
  async stop(actor: Actor, input: StopDeployment): Promise<DeploymentView> {
    const { workspace_id: workspaceId, cancel_runs = false } = input;
    await this.workspaces.require(actor, 'automation.manage', workspaceId);
    const path = automationPathOf(input.file_path);
    const found = await this.deployments.findAt(workspaceId, path);
    if (!found) throw new NotFound(`${path} was never deployed`);
    return this.move(actor, 'automation.manage', found.id, 'automation.stop', (unit, deployment) =>
      deployment.state === 'stopped' && !cancel_runs
        ? Promise.resolve(deployment)
        : this.deployer.stop(unit, deployment.id, cancel_runs),
    );
  }

  @Action('automation_pause', 'POST /api/automation/deployments/:id/pause', {
    on: { id: 'deployment' },
    summary: 'Pause a deployment: nothing but people starts it until it is resumed',
    consequence:
      'Its schedules do not fire, its webhooks are refused, and its queued runs wait until it is resumed.',
    permission: 'automation.manage',
    input: PauseDeployment,
    output: DeploymentView,
    commitsAnswer: true,
    refuses: { 409: 'It is stopped' },
  })
  pause(actor: Actor, { id, reason }: PauseDeployment): Promise<DeploymentView> {
    return this.move(actor, 'automation.manage', id, 'automation.pause', async (unit, deployment) => {
      if (deployment.state === 'stopped') throw new Conflict('It is stopped; there is nothing to pause');
      if (deployment.state === 'paused' && reason === undefined) return deployment;
      return this.deployer.pause(unit, id, reason ?? `Paused by ${actor.name}`);
    });
  }

  @Action('automation_resume', 'POST /api/automation/deployments/:id/resume', {
    on: { id: 'deployment' },
    summary: 'Resume a paused deployment',
    consequence: 'It runs by itself again, on the authority of whoever deployed it.',
    permission: 'automation.deploy',
    input: ById({ id: 'The deployment' }),
    output: DeploymentView,
    commitsAnswer: true,
    refuses: { 409: 'It is stopped' },
  })
  resume(actor: Actor, { id }: ById): Promise<DeploymentView> {
    return this.move(actor, 'automation.deploy', id, 'automation.resume', async (unit, deployment) => {
      if (deployment.state === 'stopped') throw new Conflict('It is stopped; deploy it again');
      return deployment.state === 'live' ? deployment : this.deployer.resume(unit, id);
    });
  }

  @Action('automation_rollback', 'POST /api/automation/deployments/:id/rollback', {
    on: { id: 'deployment' },
    summary: 'Make an older version of a deployment live again; it acts for whoever does that',
    consequence: 'It runs by itself as that version has it, on your authority.',
    permission: 'automation.deploy',
    input: RollBackDeployment,
    output: DeploymentView,
    commitsAnswer: true,
    refuses: { 404: 'No such deployment or version' },
  })
  rollBack(actor: Actor, { id, version: number }: RollBackDeployment): Promise<DeploymentView> {
    return this.move(actor, 'automation.deploy', id, 'automation.rollback', async unit => {
      const { definition } = await this.requireVersion(id, number, unit);
      return this.deployer.rollBack(unit, id, actor, { number, definition });
    });
  }

  @Action('automation_version_list', 'GET /api/automation/deployments/:id/versions', {
    on: { id: 'deployment' },
    summary: 'List the versions of a deployment, newest first',
    permission: 'automation.read',
    input: ListById({ id: 'The deployment' }),
    output: VersionPage,
  })
  async versions(actor: Actor, { id, ...input }: ListById): Promise<Page<VersionView>> {
    await this.deployments.require(actor, 'automation.read', id);
    const page = await this.deployments.versions(id, input);
    return { ...page, items: page.items.map(viewOf) };
  }

  @Action('automation_version_get', 'GET /api/automation/deployments/:id/versions/:number', {
    on: { id: 'deployment' },
    summary: 'Read a version with the contents of the files that it pins',
    permission: 'automation.read',
    input: VersionId,
    output: VersionView,
    refuses: { 404: 'No such deployment or version' },
  })
  async version(actor: Actor, { id, number }: VersionId): Promise<VersionView> {
    await this.deployments.require(actor, 'automation.read', id);
    const view = viewOf(await this.requireVersion(id, number));
    const files = view.files.map(async file => ({
      ...file,
      content: (await this.deployments.content(id, file.sha256))?.toString() ?? '',
    }));
    return { ...view, files: await Promise.all(files) };
  }

  private async requireVersion(
    id: string,
    number: number,
    within: Pick<Database, 'tables'> = this.database,
  ): Promise<VersionRow> {
    const version = await this.deployments.version(id, number, within);
    if (!version) throw new NotFound('No such version');
    return version;
  }

  private async move(
    actor: Actor,
    permission: WorkspacePermission,
    id: string,
    action: string,
    change: (unit: UnitOfWork, deployment: DeploymentRow) => Promise<DeploymentRow>,
  ): Promise<DeploymentView> {
    const { workspace_id } = await this.deployments.require(actor, permission, id);
    const workspace = await this.workspaces.require(actor, 'automation.read', workspace_id);
    return this.database.transaction(async unit => {
      const before = await this.deployments.lock(unit, id);
      const after = await change(unit, before);
      const details = {
        file_path: after.file_path,
        before: before.state,
        state: after.state,
        version: after.version,
      };
      await this.audit.record(unit, actor, action, targetOf(after), details);
      return unit.answers(await this.views.one(after, workspace, unit));
    });
  }
}

function viewOf(row: VersionRow): VersionView {
  const { files } = row;
  return toView(VersionView, row, { files: [...files] });
}
