import { Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { Audit } from '../../platform/audit/index.js';
import { Database } from '../../platform/database/index.js';
import { type Page, toView } from '../../platform/dto/index.js';
import { Conflict, Invalid, NotFound } from '../../platform/errors/index.js';
import { ListOfWorkspace, type VisibleWorkspace, WorkspacesStore } from '../../workspaces/core/index.js';
import { secretNameFault } from './secret-names.js';
import { DeletedSecretView, SecretName, SecretPage, SecretView, SetSecret } from './secrets.dto.js';
import { SecretsStore } from './secrets.store.js';

const MAX_SECRETS = 100;
/** Twenty values of this size fit into the environment of a process. */
const MAX_BYTES = 32_768;
/** What is shorter cannot be withheld: it is a part of too many other texts. */
const MIN_CHARACTERS = 4;

/** Secrets of a workspace, which the scripts of its automations get by name. Nobody can read a value back. */
@Injectable()
export class SecretsService {
  constructor(
    private readonly database: Database,
    private readonly workspaces: WorkspacesStore,
    private readonly secrets: SecretsStore,
    private readonly audit: Audit,
  ) {}

  @Action('workspace_secret_list', 'GET /api/workspaces/:workspaceId/secrets', {
    summary: 'List the names of the secrets that the automations of a workspace may use; never their values',
    permission: 'automation.read',
    input: ListOfWorkspace,
    output: SecretPage,
  })
  async list(actor: Actor, input: ListOfWorkspace): Promise<Page<SecretView>> {
    const { id } = await this.workspaces.require(actor, 'automation.read', input.workspace_id);
    const page = await this.secrets.list(id, input);
    return { ...page, items: page.items.map(row => toView(SecretView, row)) };
  }

  @Action('workspace_secret_set', 'PUT /api/workspaces/:workspaceId/secrets/:name', {
    summary: 'Set a secret for the scripts of automations, or replace its value',
    description: 'A script gets it as an environment variable where its automation names it under `secrets`.',
    consequence:
      'Automations that name it get this value from now on; a value that it had before cannot be restored.',
    permission: 'automation.manage',
    input: SetSecret,
    output: SecretView,
    refuses: { 409: 'The workspace has 100 secrets already' },
  })
  async set(actor: Actor, { workspace_id, name, value }: SetSecret): Promise<SecretView> {
    return this.database.transaction(async unit => {
      const workspace = await this.workspaces.requireLocked(unit, actor, 'automation.manage', workspace_id);
      const fault = secretNameFault(name);
      if (fault) throw new Invalid(`name: ${fault}`);
      checkValue(value);
      const row = await this.secrets.set(unit, { workspaceId: workspace.id, name }, value, MAX_SECRETS);
      if (!row) throw new Conflict(`The workspace has ${MAX_SECRETS} secrets already; delete one first`);
      await this.audit.record(unit, actor, 'workspace.secret.set', targetOf(workspace), { name });
      return toView(SecretView, row);
    });
  }

  @Action('workspace_secret_delete', 'DELETE /api/workspaces/:workspaceId/secrets/:name', {
    summary: 'Delete a secret; automations that name it fail from then on',
    consequence: 'Automations that name it fail from then on; its value cannot be restored.',
    permission: 'automation.manage',
    input: SecretName,
    output: DeletedSecretView,
    refuses: { 404: 'No such workspace or secret' },
  })
  async delete(actor: Actor, { workspace_id, name }: SecretName): Promise<DeletedSecretView> {
    return this.database.transaction(async unit => {
      const workspace = await this.workspaces.requireLocked(unit, actor, 'automation.manage', workspace_id);
      if (!(await this.secrets.delete(unit, { workspaceId: workspace.id, name })))
        throw new NotFound(`This workspace has no secret ${name}`);
      await this.audit.record(unit, actor, 'workspace.secret.delete', targetOf(workspace), { name });
      return { name, deleted: true };
    });
  }
}

function checkValue(value: string): void {
  if (value.includes('\0')) throw new Invalid('value must not contain a null character');
  if (value.trim().length < MIN_CHARACTERS)
    throw new Invalid(
      `value must have at least ${MIN_CHARACTERS} characters apart from spaces at its ends: a shorter one cannot be withheld in logs`,
    );
  const bytes = Buffer.byteLength(value);
  if (bytes > MAX_BYTES) throw new Invalid(`value must have at most ${MAX_BYTES} bytes; it has ${bytes}`);
}

const targetOf = ({ id, organization_id }: Pick<VisibleWorkspace, 'id' | 'organization_id'>) => ({
  type: 'workspace',
  id,
  organization_id,
  workspace_id: id,
});
