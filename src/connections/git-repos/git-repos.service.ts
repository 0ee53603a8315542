import { Injectable } from '@nestjs/common';
import { workspacePath } from '#libs/workspace-fs/index.js';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { Audit } from '../../platform/audit/index.js';
import { Database, newId, type UnitOfWork } from '../../platform/database/index.js';
import { ById, DeletedView, type Page, toView } from '../../platform/dto/index.js';
import { Conflict, Invalid } from '../../platform/errors/index.js';
import {
  ListOfWorkspace,
  type VisibleWorkspace,
  WorkspaceFolders,
  WorkspacesStore,
} from '../../workspaces/core/index.js';
import { CloneQueue } from './clone-queue.js';
import { GitSandbox } from './git/git-sandbox.js';
import { remoteUrl } from './git/remote-url.js';
import { CreateGitRepo, GitRepoPage, GitRepoView, StartedCloneView, UpdateGitRepo } from './git-repos.dto.js';
import { GitReposStore, type RepoRow } from './git-repos.store.js';

const MAX_REPOS = 200;

@Injectable()
export class GitReposService {
  constructor(
    private readonly database: Database,
    private readonly repos: GitReposStore,
    private readonly workspaces: WorkspacesStore,
    private readonly folders: WorkspaceFolders,
    private readonly git: GitSandbox,
    private readonly clones: CloneQueue,
    private readonly audit: Audit,
  ) {}

  @Action('git_repo_create', 'POST /api/git-repos', {
    summary: 'Clone a Git repository into a folder of a workspace, in the background',
    description:
      'It is cloned aside and moved to its place when it is whole: a clone that fails leaves nothing. The remote gets the ' +
      'credential of a connection that is granted to the workspace; without one, its host must be among those that sandboxes of ' +
      'the workspace may connect to. Hooks, filters and submodules of a repository are not run.',
    effect: 'write',
    permission: 'git.write',
    input: CreateGitRepo,
    output: StartedCloneView,
    refuses: {
      403: 'The connection may not be used by the caller, or not for this repository',
      409: 'There is something in that folder, or the host cannot be reached from the workspace',
      429: 'Too many repositories of the organization are being cloned',
    },
    commitsAnswer: true,
  })
  async create(actor: Actor, input: CreateGitRepo): Promise<StartedCloneView> {
    const workspace = await this.workspaces.require(actor, 'git.write', input.workspace_id);
    const url = remoteUrl(input.url);
    const path = parseFolder(input.path ?? url.name);
    if (!(await this.folders.open(workspace).isFree(path)))
      throw new Conflict(`There is something at ${path} already; name another path`);
    const connection_id =
      input.connection_id === undefined
        ? await this.git.connectionFor(workspace, actor, url)
        : input.connection_id;
    await this.git.requireReachable(workspace, actor, { url, connectionId: connection_id, level: 'read' });
    const { id: workspace_id } = workspace;
    await this.clones.requireRoom(workspace);
    return this.database.transaction(async unit => {
      if ((await this.repos.count(unit, workspace_id)) >= MAX_REPOS)
        throw new Conflict(`There are ${MAX_REPOS} repositories in this workspace already; delete one first`);
      const operation_id = newId();
      const row = await this.repos.insert(unit, {
        workspace_id,
        path,
        url: url.href,
        connection_id,
        operation_id,
        created_by: actor.id,
        branch: input.branch ?? null,
        depth: input.depth ?? null,
      });
      if (!row) throw new Conflict(`There is a repository at ${path} already`);
      await this.clones.add(unit, actor, workspace, { operation_id, repo_id: row.id });
      await this.record(unit, actor, 'git_repo.clone', row, workspace);
      return unit.answers({ id: row.id, operation_id });
    });
  }

  @Action('git_repo_list', 'GET /api/git-repos', {
    summary: 'List the Git repositories of a workspace',
    permission: 'git.read',
    input: ListOfWorkspace,
    output: GitRepoPage,
  })
  async list(actor: Actor, input: ListOfWorkspace): Promise<Page<GitRepoView>> {
    await this.workspaces.require(actor, 'git.read', input.workspace_id);
    const page = await this.repos.list(input.workspace_id, input);
    return { ...page, items: page.items.map(repoView) };
  }

  @Action('git_repo_get', 'GET /api/git-repos/:id', {
    on: { id: 'git_repo' },
    summary: 'Read where a Git repository is, its remote, and how it stands',
    permission: 'git.read',
    input: ById({ id: 'The repository' }),
    output: GitRepoView,
  })
  async read(actor: Actor, { id }: ById): Promise<GitRepoView> {
    return repoView((await this.repos.require(actor, 'git.read', id)).row);
  }

  @Action('git_repo_update', 'PATCH /api/git-repos/:id', {
    on: { id: 'git_repo' },
    summary: 'Change whose credential the remote of a repository gets, or say where its folder is by now',
    effect: 'write',
    permission: 'git.write',
    input: UpdateGitRepo,
    output: GitRepoView,
    refuses: {
      403: 'The connection may not be used by the caller, or not for this repository',
      409: 'Another repository is there, or the host cannot be reached from the workspace',
    },
  })
  async update(actor: Actor, { id, connection_id, path }: UpdateGitRepo): Promise<GitRepoView> {
    const { row, workspace } = await this.repos.require(actor, 'git.write', id);
    if (row.state === 'cloning') throw new Conflict('It is still being cloned; watch its operation');
    if (connection_id !== undefined)
      await this.git.requireReachable(workspace, actor, {
        url: remoteUrl(row.url),
        connectionId: connection_id,
        level: 'read',
      });
    const moved = path === undefined ? undefined : parseFolder(path);
    return this.database.transaction(async unit => {
      if (
        moved !== undefined &&
        moved !== row.path &&
        (await this.repos.isTaken(unit, row.workspace_id, moved))
      )
        throw new Conflict(`There is a repository at ${moved} already`);
      const changed = await this.repos.change(
        id,
        {
          ...(connection_id !== undefined && { connection_id }),
          ...(moved !== undefined && { path: moved }),
        },
        unit,
      );
      await this.record(unit, actor, 'git_repo.update', changed, workspace);
      return repoView(changed);
    });
  }

  @Action('git_repo_delete', 'DELETE /api/git-repos/:id', {
    on: { id: 'git_repo' },
    summary: 'Forget a Git repository; its files stay',
    consequence: 'It is not pulled and pushed from here any more; its folder stays as it is.',
    permission: 'git.write',
    input: ById({ id: 'The repository' }),
    output: DeletedView,
    refuses: { 409: 'It is still being cloned; cancel its operation first' },
  })
  async delete(actor: Actor, { id }: ById): Promise<DeletedView> {
    const { row, workspace } = await this.repos.require(actor, 'git.write', id);
    if (row.state === 'cloning') throw new Conflict('It is still being cloned; cancel its operation first');
    await this.database.deletion(async unit => {
      await this.repos.delete(unit, id);
      await this.record(unit, actor, 'git_repo.delete', row, workspace);
    });
    return DeletedView.of(id);
  }

  private record(
    unit: UnitOfWork,
    actor: Actor,
    action: string,
    { id, url, path, connection_id }: RepoRow,
    { organization_id, id: workspace_id }: VisibleWorkspace,
  ): Promise<void> {
    const target = { type: 'git_repo', id, organization_id, workspace_id };
    return this.audit.record(unit, actor, action, target, { url, path, connection_id });
  }
}

function parseFolder(path: string): string {
  const folder = workspacePath(path);
  if (folder === '') throw new Invalid('path must name a folder of the workspace, not all of it');
  if (folder.split('/').includes('.git')) throw new Invalid('path must not lie in a .git folder');
  return folder;
}

const repoView = (row: RepoRow): GitRepoView => toView(GitRepoView, row);
