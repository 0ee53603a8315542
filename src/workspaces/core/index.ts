export { CoreModule } from './core.module.js';
export { AuthorityLost, StandingAuthority } from './standing-authority.js';
export { UnfinishedWrites, WorkspaceFolders } from './workspace-folders.js';
export { CreatedWorkspaceView, ListOfWorkspace, WorkspaceId } from './workspaces.dto.js';
export { endFeature, FeatureEnds, removeFolder } from './workspaces.jobs.js';
export { type FromTemplate, WorkspacesService } from './workspaces.service.js';
export {
  type VisibleWorkspace,
  WorkspacesStore,
  workspacesTopic,
  workspaceView,
} from './workspaces.store.js';
