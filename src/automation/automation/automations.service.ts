import { Injectable } from '@nestjs/common';
import { workspacePath } from '#libs/workspace-fs/index.js';
import { type Actor, requireScope } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { Audit } from '../../platform/audit/index.js';
import { Database } from '../../platform/database/index.js';
import { ById, type Page } from '../../platform/dto/index.js';
import { Conflict, Invalid } from '../../platform/errors/index.js';
import { WorkspacesStore } from '../../workspaces/core/index.js';
import { RunViews } from './asking/run-views.js';
import { Closures, firstFault } from './deploying/closures.js';
import { Deployer } from './deploying/deployer.js';
import { StandIns } from './deploying/stand-ins.js';
import { isAutomationPath } from './file/automation-definition.js';
import { nextFires } from './next-fires.js';
import { type DeploymentRow, DeploymentsStore } from './records/deployments.store.js';
import {
  DeployAutomation,
  DeployedView,
  DeploymentPage,
  DeploymentView,
  ListDeployments,
  ValidateAutomation,
  ValidationView,
} from './views/automations.dto.js';
import { DeploymentViews } from './views/deployment-views.js';
import { inSnakeCase } from './views/snake-case.js';

const MAX_FIRES = 5;
const RUNS_SHOWN = 5;

/** Automations: files that say what is to be done when, and their deployments. */
@Injectable()
export class AutomationsService {
  constructor(
    private readonly database: Database,
    private readonly workspaces: WorkspacesStore,
    private readonly deployments: DeploymentsStore,
    private readonly closures: Closures,
    private readonly deployer: Deployer,
    private readonly standIns: StandIns,
    private readonly views: DeploymentViews,
    private readonly runViews: RunViews,
    private readonly audit: Audit,
  ) {}

  @Action('automation_validate', 'POST /api/automation/validate', {
    summary:
      'Check the file of an automation: its mistakes with lines and suggestions, and when it fires next',
    permission: 'automation.read',
    input: ValidateAutomation,
    output: ValidationView,
    commitsAnswer: true,
    refuses: { 404: 'No such workspace or file' },
  })
  async validate(actor: Actor, input: ValidateAutomation): Promise<ValidationView> {
    const workspace = await this.workspaces.require(actor, 'automation.read', input.workspace_id);
    const path = automationPathOf(input.file_path);
    const { pinned, findings, digest } = await this.closures.read(workspace, path, actor.id, input.content);
    const schedules = pinned?.definition.triggers ?? [];
    const fires = schedules.flatMap(trigger =>
      trigger.kind === 'schedule' ? nextFires(trigger, new Date(), MAX_FIRES) : [],
    );
    const view: ValidationView = {
      valid: pinned !== null,
      findings: findings.map(finding => ({ ...finding })),
      automation: inSnakeCase(pinned?.definition ?? null),
      next_fires: fires
        .map(time => time.toISOString())
        .sort()
        .slice(0, MAX_FIRES),
      digest,
    };
    return this.database.transaction(unit => unit.answers(view));
  }

  @Action('automation_deploy', 'POST /api/automation/deployments', {
    summary: 'Deploy an automation as its files are now, or a further version of it',
    description:
      'It acts for whoever deploys it. Changes to its files change nothing that is live until it is deployed again.',
    consequence:
      'It runs by itself from now on, on your authority, with the tools and actions that its file names.',
    permission: 'automation.deploy',
    input: DeployAutomation,
    output: DeployedView,
    commitsAnswer: true,
    refuses: { 404: 'No such workspace or file', 409: 'Its files are not as expected_digest says' },
  })
  async deploy(actor: Actor, input: DeployAutomation): Promise<DeployedView> {
    const workspace = await this.workspaces.require(actor, 'automation.deploy', input.workspace_id);
    const path = automationPathOf(input.file_path);
    const { pinned, findings, files, digest } = await this.closures.read(
      workspace,
      path,
      input.run_as ?? actor.id,
    );
    if (!pinned) throw new Invalid(firstFault(findings));
    if (input.expected_digest !== undefined && input.expected_digest !== digest)
      throw new Conflict('Its files have changed since they were validated; validate them again');
    const { organization_id, id: workspace_id } = workspace;
    const { work } = pinned.definition;
    const acting = input.run_as
      ? await this.standIns.actorFor(actor, input.run_as, workspace, work.kind)
      : actor;
    return this.database.transaction(async unit => {
      // What fires holds its deployment, and refers to its workspace when it commits: in that order.
      await this.deployments.lockAt(unit, workspace_id, path);
      await this.workspaces.requireLocked(unit, actor, 'automation.deploy', workspace_id);
      const place = { organization_id, workspace_id, file_path: path };
      const { deployment, secrets } = await this.deployer.deploy(
        unit,
        place,
        { deployedBy: actor, acting },
        {
          digest,
          files,
          pinned,
        },
      );
      const { tools, actions, triggers } = pinned.definition;
      const run_as = input.run_as ?? null;
      const details = { file_path: path, version: deployment.version, digest, tools, actions, run_as };
      await this.audit.record(unit, actor, 'automation.deploy', targetOf(deployment), {
        ...details,
        triggers: triggers.map(({ kind }) => kind),
      });
      const view = await this.views.one(deployment, workspace, unit);
      return unit.answers({ ...view, secrets, findings: findings.map(finding => ({ ...finding })) });
    });
  }

  @Action('automation_list', 'GET /api/automation/deployments', {
    summary: 'List the deployments of automations in the workspaces that the caller sees, or in one of them',
    permission: 'automation.read',
    input: ListDeployments,
    output: DeploymentPage,
    refuses: { 404: 'No such workspace' },
  })
  async list(actor: Actor, input: ListDeployments): Promise<Page<DeploymentView>> {
    requireScope(actor, 'automation.read');
    if (input.workspace_id) await this.workspaces.require(actor, 'automation.read', input.workspace_id);
    const page = await this.deployments.list(actor, input);
    const items: DeploymentView[] = [];
    for (const row of page.items) items.push(await this.view(actor, row));
    return { ...page, items };
  }

  @Action('automation_get', 'GET /api/automation/deployments/:id', {
    on: { id: 'deployment' },
    summary:
      'Read a deployment: how it stands, what starts it, when next, and whether its files have changed',
    permission: 'automation.read',
    input: ById({ id: 'The deployment' }),
    output: DeploymentView,
  })
  async read(actor: Actor, { id }: ById): Promise<DeploymentView> {
    const deployment = await this.deployments.require(actor, 'automation.read', id);
    const workspace = await this.workspaces.require(actor, 'automation.read', deployment.workspace_id);
    const last_runs = await this.runViews.latest(actor, id, RUNS_SHOWN);
    return { ...(await this.views.whole(deployment, workspace)), last_runs };
  }

  private async view(actor: Actor, deployment: DeploymentRow): Promise<DeploymentView> {
    const workspace = await this.workspaces.require(actor, 'automation.read', deployment.workspace_id);
    return this.views.one(deployment, workspace);
  }
}

export const targetOf = ({ id, organization_id, workspace_id }: DeploymentRow) => ({
  type: 'automation',
  id,
  organization_id,
  workspace_id,
});

/** 422 for what is no automation by its name. */
export function automationPathOf(given: string): string {
  const path = workspacePath(given);
  if (!isAutomationPath(path))
    throw new Invalid(
      'file_path must be that of a .md file in automations/, or of one whose name ends in .automation.md',
    );
  return path;
}
