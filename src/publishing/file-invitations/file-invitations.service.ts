import { Injectable } from '@nestjs/common';
import { workspacePath } from '#libs/workspace-fs/index.js';
import { User } from '../../identity/accounts/index.js';
import { InvitedAccounts } from '../../identity/auth/index.js';
import {
  type Actor,
  hashSecret,
  randomSecret,
  requireInWorkspace,
  requireScope,
  type WorkspacePermission,
} from '../../platform/access/index.js';
import { Action, Subject } from '../../platform/actions/index.js';
import { Audit } from '../../platform/audit/index.js';
import { Database, newId, type UnitOfWork } from '../../platform/database/index.js';
import { ById, DeletedView, type Page } from '../../platform/dto/index.js';
import { Conflict, Forbidden } from '../../platform/errors/index.js';
import { type VisibleWorkspace, WorkspaceFolders, WorkspacesStore } from '../../workspaces/core/index.js';
import {
  CreateFileInvitation,
  DeclinedFilesView,
  FileInvitationPage,
  FileInvitationToken,
  FileInvitationView,
  ListFileInvitations,
  RegisteredForFilesView,
  RegisterForFiles,
  SentFileInvitationView,
} from './file-invitations.dto.js';
import {
  FILE_INVITATION,
  FileInvitationsStore,
  type LockedInvitation,
  reachOf,
  requireOpen,
  toView,
} from './file-invitations.store.js';
import { InvitationMail } from './invitation-mail.js';

@Injectable()
export class FileInvitationsService {
  constructor(
    private readonly database: Database,
    private readonly invitations: FileInvitationsStore,
    private readonly workspaces: WorkspacesStore,
    private readonly folders: WorkspaceFolders,
    private readonly accounts: InvitedAccounts,
    private readonly mail: InvitationMail,
    private readonly audit: Audit,
  ) {}

  @Action('file_invitation_list', 'GET /api/file-invitations', {
    summary:
      'List file invitations of workspaces that the caller sees, or, with mine, what is shared with them',
    permission: 'share.read',
    input: ListFileInvitations,
    output: FileInvitationPage,
    refuses: { 404: 'No such workspace' },
  })
  async list(actor: Actor, input: ListFileInvitations): Promise<Page<FileInvitationView>> {
    const { mine, workspace_id: workspaceId } = input;
    requireScope(actor, 'share.read');
    if (workspaceId && !mine) await this.workspaces.require(actor, 'share.read', workspaceId);
    return mine
      ? this.invitations.listAccepted(actor, input)
      : this.invitations.list(actor, workspaceId, input);
  }

  @Action('file_invitation_create', 'POST /api/file-invitations', {
    summary: 'Invite somebody to one file or folder by their e-mail address',
    consequence: 'Somebody outside can then read the file or folder, and change it where the role says so.',
    permission: 'share.manage',
    input: CreateFileInvitation,
    output: SentFileInvitationView,
    commitsAnswer: true,
    refuses: {
      404: 'No such workspace or path',
      409: 'The path cannot be shared',
      429: 'Too many mails in this hour',
    },
  })
  async create(actor: Actor, input: CreateFileInvitation): Promise<SentFileInvitationView> {
    const { workspace_id: workspaceId, role = 'viewer' } = input;
    const workspace = await this.workspaces.require(actor, 'share.manage', workspaceId);
    requireScope(actor, reachOf(role));
    const path = workspacePath(input.path);
    const { type } = await this.folders.open(workspace).stat(path);
    if (type !== 'file' && type !== 'directory') throw new Conflict('Only files and folders can be shared');
    const email = User.normalizeEmail(input.email);
    await this.mail.allow(actor, email);
    const token = randomSecret();
    const invitation = {
      id: newId(),
      workspace_id: workspaceId,
      path,
      email,
      role,
      token_hash: hashSecret(token),
      invited_by: actor.id,
    };
    return this.database.transaction(async unit => {
      await this.workspaces.requireLocked(unit, actor, 'share.manage', workspaceId);
      await this.invitations.add(unit, invitation);
      const row = await this.invitations.require(actor, invitation.id, unit);
      await this.record(unit, actor, 'file_invitation.create', row);
      const link = await this.mail.send(unit, actor, invitation, token);
      return unit.answers({ ...toView(row), token, link, mailed: this.mail.isConfigured });
    });
  }

  @Action('file_invitation_accept', 'POST /api/file-invitations/:token/accept', {
    summary: 'Accept a file invitation with the account of the invited address',
    effect: 'write',
    permission: null,
    input: FileInvitationToken,
    output: FileInvitationView,
    commitsAnswer: true,
    sessionOnly: true,
    refuses: { 404: 'No such invitation', 409: 'It was accepted already', 410: 'It has expired' },
  })
  async accept(actor: Actor, { token }: FileInvitationToken): Promise<FileInvitationView> {
    return this.database.transaction(async unit => {
      const invitation = await this.invitations.lockByToken(unit, token);
      if (invitation.email !== actor.email)
        throw new Forbidden('This invitation is for another e-mail address than that of your account');
      await this.settle(unit, actor, invitation, actor.id);
      return unit.answers(toView(await this.invitations.require(actor, invitation.id, unit)));
    });
  }

  async register({ token, name, password }: RegisterForFiles): Promise<RegisteredForFilesView> {
    const held = await this.invitations.findByToken(token);
    if (!held) throw FILE_INVITATION.missing();
    const newcomer = await this.accounts.prepare(name, password, held.email);
    return this.database.transaction(async unit => {
      const invitation = await this.invitations.lockByToken(unit, token);
      requireOpen(invitation);
      const user = await this.accounts.make(unit, invitation.email, newcomer);
      await this.settle(unit, null, invitation, user.id);
      return { user_id: user.id, file_invitation_id: invitation.id };
    });
  }

  /** Needs only the link; deletes the invitation. */
  async decline({ token }: FileInvitationToken): Promise<DeclinedFilesView> {
    await this.database.transaction(async unit => {
      const invitation = await this.invitations.lockByToken(unit, token);
      requireOpen(invitation);
      await this.invitations.remove(unit, invitation.id);
      await this.record(unit, null, 'file_invitation.decline', invitation);
    });
    return { declined: true };
  }

  @Action('file_invitation_revoke', 'DELETE /api/file-invitations/:id', {
    on: { id: 'file_invitation' },
    summary: 'Withdraw a file invitation; access by it ends at once. The invited may give theirs up',
    consequence: 'Whoever was invited loses access at once; to give it back they have to be invited anew.',
    permission: 'share.revoke',
    input: ById({ id: 'The file invitation' }),
    output: DeletedView,
  })
  async revoke(actor: Actor, { id }: ById): Promise<DeletedView> {
    const row = await this.invitations.require(actor, id);
    requireScope(actor, 'share.revoke');
    const { role_there: role, features_off } = row;
    if (role && row.accepted_by !== actor.id)
      requireInWorkspace(actor, 'share.revoke', { role, features_off });
    await this.database.transaction(async unit => {
      await this.invitations.remove(unit, id);
      await this.record(unit, actor, 'file_invitation.revoke', row);
    });
    return DeletedView.of(id);
  }

  @Subject('file_invitation', 'workspace', ({ id, organization_id }: VisibleWorkspace) => ({
    organization_id,
    workspace_id: id,
  }))
  async requireStanding(
    actor: Actor,
    permission: WorkspacePermission,
    id: string,
  ): Promise<VisibleWorkspace> {
    const { workspace_id } = await this.invitations.require(actor, id);
    return this.workspaces.require(actor, permission, workspace_id);
  }

  private async settle(
    unit: UnitOfWork,
    actor: Actor | null,
    invitation: LockedInvitation,
    userId: string,
  ): Promise<void> {
    await this.invitations.accept(unit, invitation, userId);
    await this.record(unit, actor, 'file_invitation.accept', invitation);
  }

  private record(
    unit: UnitOfWork,
    actor: Actor | null,
    action: string,
    invitation: LockedInvitation,
  ): Promise<void> {
    const { path, email, role } = invitation;
    return this.audit.record(unit, actor, action, FILE_INVITATION.target(invitation), { path, email, role });
  }
}
