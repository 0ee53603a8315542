export { CoreModule } from './core.module.js';
export { UnfinishedWrites, WorkspaceFolders } from './workspace-folders.js';
export { ListOfWorkspace, WorkspaceId } from './workspaces.dto.js';
export { endFeature, FeatureEnds, removeFolder } from './workspaces.jobs.js';
export { WorkspacesService } from './workspaces.service.js';
export {
  goingByTopics,
  type VisibleWorkspace,
  WorkspacesStore,
  workspacesTopic,
} from './workspaces.store.js';
