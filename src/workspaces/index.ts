import { FileInvitation, ShareLink } from './share/index.js';
import { Workspace, WorkspaceMember } from './workspaces/index.js';

export { changesTopic } from './changes/change-log.js';
export type { ChangeView } from './changes/changes.dto.js';
export { ChangesService, type WorkspaceHead } from './changes/changes.service.js';
export { FileAuthors } from './changes/file-authors.js';
export { WorkspaceQuota } from './changes/workspace-quota.js';
export { DuplicateService } from './duplicate/duplicate.service.js';
export { FileWritesService } from './files/file-writes.service.js';
export { FilesService } from './files/files.service.js';
export { FileChangeView, RevertedView, RunFiles, RunRollback } from './history/index.js';
export { StoredElsewhere } from './metering/stored-elsewhere.js';
export { SandboxesService } from './sandboxes/sandboxes.service.js';
export type { Shell } from './sandboxes/shell.js';
export { ShareOrigin } from './share/index.js';
export { BASH } from './tools/bash.tool.js';
export { LongOutputs } from './tools/long-outputs.js';
export { failed, shorten, type Tool, type ToolResult } from './tools/tool.js';
export { Toolbox } from './tools/toolbox.js';
export { ToolView } from './tools/tools.dto.js';
export { ToolsService } from './tools/tools.service.js';
export {
  FeatureEnds,
  isVisibleTo,
  namesReachable,
  type VisibleWorkspace,
  Workspace,
  WorkspaceFolders,
  WorkspaceMember,
  WorkspacesService,
  WorkspacesStore,
  workspacesTopic,
} from './workspaces/index.js';
export { WorkspacesModule } from './workspaces.module.js';

export const workspaceEntities = [Workspace, WorkspaceMember, ShareLink, FileInvitation];
