import { Injectable } from '@nestjs/common';
import { ResponseSchemas } from '../../../agents/models/index.js';
import type { Actor } from '../../../platform/access/index.js';
import { Conflict, Invalid, NotFound } from '../../../platform/errors/index.js';
import type { VisibleWorkspace } from '../../../workspaces/core/index.js';
import { Closures, firstFault } from '../deploying/closures.js';
import type { AutomationDefinition } from '../file/automation-definition.js';
import { DeploymentsStore } from '../records/deployments.store.js';
import type { Incoming } from '../running/run-acceptance.js';

/** The automation that a caller asks to run. */
export type RunTarget = Pick<Incoming, 'deployment' | 'definition' | 'draft'>;

/** Reads what a caller asks to run: the file as it is now, or the version that is live. */
@Injectable()
export class RunTargetReader {
  constructor(
    private readonly deployments: DeploymentsStore,
    private readonly closures: Closures,
    private readonly schemas: ResponseSchemas,
  ) {}

  async readDraft(actor: Actor, workspace: VisibleWorkspace, path: string): Promise<RunTarget> {
    const { pinned, findings } = await this.closures.read(workspace, path, actor.id);
    if (!pinned) throw new Invalid(firstFault(findings));
    return { deployment: null, definition: pinned.definition, draft: pinned };
  }

  async readLive({ id }: VisibleWorkspace, path: string): Promise<RunTarget> {
    const deployment = await this.deployments.findAt(id, path);
    if (!deployment) throw new NotFound(`${path} is not deployed; deploy it, or run it with draft: true`);
    if (deployment.state === 'stopped')
      throw new Conflict('It is stopped; deploy it again, or run it with draft: true');
    const version = await this.deployments.version(deployment.id, deployment.version);
    if (!version) throw new NotFound('Its version is not there any more');
    return { deployment, definition: version.definition, draft: null };
  }

  /** Throws Invalid where the input is not as the file says. */
  async validateInput({ input }: AutomationDefinition, payload: string | undefined): Promise<void> {
    const schema: unknown = input;
    if (typeof schema !== 'object' || schema === null) return;
    if (payload === undefined)
      throw new Invalid('input is missing; the file of the automation says what it is to be');
    const reading = await this.schemas.checkOf(schema as Record<string, unknown>).read(payload);
    if ('faults' in reading && reading.faults) throw new Invalid(`input: ${reading.faults.join('; ')}`);
  }
}
