import { Injectable } from '@nestjs/common';
import { hashPassword } from '../../../identity/accounts/index.js';
import {
  type Actor,
  organizationRoleAllows,
  requireScope,
  type WorkspacePermission,
} from '../../../platform/access/index.js';
import { Action, Subject } from '../../../platform/actions/index.js';
import { Audit } from '../../../platform/audit/index.js';
import { Database, newId } from '../../../platform/database/index.js';
import { ById, DeletedView, type Page } from '../../../platform/dto/index.js';
import { Conflict } from '../../../platform/errors/index.js';
import { ListOfWorkspace, type VisibleWorkspace, WorkspacesStore } from '../../../workspaces/core/index.js';
import { LinkAccess, readEnd } from '../../exposure/index.js';
import { type AskedFormRow, FORM_LINK, type FormChanges, FormsStore } from '../records/forms.store.js';
import { CurrentForms } from './current-forms.js';
import { readFormPath } from './form-checks.service.js';
import { FormViews } from './form-views.js';
import { FormPage, FormView, ShareForm, UpdateForm } from './forms.dto.js';

/** Forms, which people without an account fill in. */
@Injectable()
export class FormsService {
  constructor(
    private readonly database: Database,
    private readonly forms: FormsStore,
    private readonly workspaces: WorkspacesStore,
    private readonly current: CurrentForms,
    private readonly access: LinkAccess,
    private readonly views: FormViews,
    private readonly audit: Audit,
  ) {}

  @Action('form_list', 'GET /api/workspaces/:workspaceId/forms', {
    summary: 'List forms that take responses, with how many each has',
    permission: 'form.read',
    input: ListOfWorkspace,
    output: FormPage,
  })
  async list(actor: Actor, input: ListOfWorkspace): Promise<Page<FormView>> {
    await this.workspaces.require(actor, 'form.read', input.workspace_id);
    const page = await this.forms.list(actor, input);
    return { ...page, items: page.items.map(row => this.views.toView(actor, row)) };
  }

  @Action('form_share', 'POST /api/workspaces/:workspaceId/forms/share', {
    summary: 'Open a .form file to visitors, who fill it in without an account',
    consequence: 'Whoever has the link can then see the form and hand responses and files in.',
    permission: 'form.share',
    input: ShareForm,
    output: FormView,
    commitsAnswer: true,
    refuses: {
      404: 'No such workspace or file',
      409: 'It is shared already, the workspace has as many forms as it may, or there is no host for links',
      422: 'The file has mistakes',
    },
  })
  async share(actor: Actor, input: ShareForm): Promise<FormView> {
    const { workspace_id: workspaceId, password } = input;
    const workspace = await this.workspaces.require(actor, 'form.share', workspaceId);
    const path = readFormPath(input.path);
    const file = await this.current.readShareable(workspace, path);
    const id = newId();
    const form = {
      id,
      workspace_id: workspaceId,
      path,
      created_by: actor.id,
      ...this.access.newSecret(id),
      expires_at: readEnd(input.expires_at),
      password_hash: password ? await hashPassword(password) : null,
    };
    return this.database.transaction(async unit => {
      await this.workspaces.requireLocked(unit, actor, 'form.share', workspaceId);
      await this.forms.requireRoom(unit, workspaceId, path);
      await this.forms.add(unit, form, file);
      const row = await this.forms.require(actor, id, unit);
      const details = { path, expires_at: input.expires_at ?? null, has_password: !!password };
      await this.audit.record(unit, actor, 'form.share', FORM_LINK.target(row), details);
      return unit.answers(this.views.toView(actor, row));
    });
  }

  @Action('form_get', 'GET /api/forms/:id', {
    on: { id: 'form' },
    summary: 'Read a form: its address, state, and how many responses it has',
    permission: 'form.read',
    input: ById({ id: 'The form' }),
    output: FormView,
  })
  async read(actor: Actor, { id }: ById): Promise<FormView> {
    const row = await this.forms.require(actor, id);
    FORM_LINK.requireRole(actor, row, 'form.read');
    return this.views.toView(actor, { ...row, ...(await this.current.current(row)) });
  }

  @Action('form_update', 'PATCH /api/forms/:id', {
    on: { id: 'form' },
    summary: 'Pause or resume a form, rotate its address, or set when it ends and what visitors must enter',
    consequence: 'Whoever has the link can then use the form as it says.',
    permission: 'form.share',
    input: UpdateForm,
    output: FormView,
    refuses: { 404: 'No such form or file', 409: 'The file is shared already', 422: 'The file has mistakes' },
  })
  async update(actor: Actor, input: UpdateForm): Promise<FormView> {
    const { id, paused, password, expires_at, rotate } = input;
    const row = await this.forms.require(actor, id);
    FORM_LINK.requireRole(actor, row, 'form.share');
    const path = input.path === undefined ? row.path : readFormPath(input.path);
    const file = path === row.path ? undefined : await this.current.readShareable(workspaceOf(row), path);
    const changes: FormChanges = {
      ...(file && { path }),
      ...(paused !== undefined && { paused_at: paused ? new Date().toISOString() : null }),
      ...(expires_at !== undefined && { expires_at: readEnd(expires_at) }),
      ...(password !== undefined && { password_hash: password ? await hashPassword(password) : null }),
      ...(rotate && this.access.newSecret(id)),
    };
    await this.database.transaction(async unit => {
      await this.workspaces.requireLocked(unit, actor, 'form.share', row.workspace_id);
      if (file) await this.forms.requireFree(unit, row.workspace_id, path);
      await this.forms.update(unit, id, changes);
      if (file) await this.forms.learn(unit, id, file);
      const details = {
        path,
        paused,
        expires_at,
        rotated: rotate === true,
        password_changed: password !== undefined,
      };
      await this.audit.record(unit, actor, 'form.update', FORM_LINK.target(row), details);
    });
    return this.read(actor, { id });
  }

  @Action('form_delete', 'DELETE /api/forms/:id', {
    on: { id: 'form' },
    summary:
      'End a form: its link and the responses beside its file go, both files stay. Organization admins may end any',
    consequence: 'The link never works again, and what was taken for spam is deleted.',
    permission: 'form.manage',
    input: ById({ id: 'The form' }),
    output: DeletedView,
    refuses: { 409: 'Responses are not in their file yet' },
  })
  async delete(actor: Actor, { id }: ById): Promise<DeletedView> {
    await this.database.transaction(async unit => {
      requireScope(actor, 'form.manage');
      await this.forms.lock(unit, id);
      const row = await this.forms.require(actor, id, unit);
      if (!organizationRoleAllows(row.organization_role, 'exposure.manage'))
        FORM_LINK.requireRole(actor, row, 'form.manage');
      if (row.waiting > 0)
        throw new Conflict(
          `${row.waiting} responses are not in their file yet; export them and delete them one by one, or wait until they are written`,
        );
      await this.forms.remove(unit, id);
      await this.audit.record(unit, actor, 'form.delete', FORM_LINK.target(row), { path: row.path });
    });
    return DeletedView.of(id);
  }

  /** Whether the caller may do that to the form, as its workspace says. */
  @Subject('form', 'workspace', ({ id, organization_id }: VisibleWorkspace) => ({
    organization_id,
    workspace_id: id,
  }))
  async requireStanding(
    actor: Actor,
    permission: WorkspacePermission,
    id: string,
  ): Promise<VisibleWorkspace> {
    const { workspace_id } = await this.forms.require(actor, id);
    return this.workspaces.require(actor, permission, workspace_id);
  }
}

const workspaceOf = (row: AskedFormRow) => ({ id: row.workspace_id, number: row.workspace_number });
