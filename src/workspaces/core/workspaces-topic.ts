import { defineTopic } from '../../platform/topics/index.js';
/**
 * The signal that workspaces come or go for somebody, or are called otherwise: of an organization, or of a person or service
 * account. The database sends it (triggers on workspace, workspace_member and membership), so that no way in forgets it.
 */
export const workspacesTopic = defineTopic('workspaces');
