export { UnfinishedWrites } from './unfinished-writes.js';
export { isVisibleTo } from './visible.js';
export { Workspace } from './workspace.entity.js';
export { WorkspaceFolders } from './workspace-folders.js';
export { WorkspaceMember } from './workspace-member.entity.js';
export { WorkspacesController } from './workspaces.controller.js';
export { WORKSPACE_QUEUE, WorkspaceJobs } from './workspaces.jobs.js';
export { WorkspacesService } from './workspaces.service.js';
export { type VisibleWorkspace, WorkspacesStore } from './workspaces.store.js';
