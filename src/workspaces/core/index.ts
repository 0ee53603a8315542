export { CoreModule } from './core.module.js';
export { FeatureEnds } from './feature-ends.js';
export { AuthorityLost, StandingAuthority } from './standing-authority.js';
export { UnfinishedWrites } from './unfinished-writes.js';
export { WorkspaceFolders } from './workspace-folders.js';
export {
  CreatedWorkspaceView,
  ListAcrossWorkspaces,
  ListOfWorkspace,
  WorkspaceId,
} from './workspaces.dto.js';
export { endFeature, removeFolder } from './workspaces.jobs.js';
export { type FromTemplate, WorkspacesService } from './workspaces.service.js';
export {
  type VisibleWorkspace,
  WorkspacesStore,
  workspacesTopic,
  workspaceView,
} from './workspaces.store.js';
