import { defineTopic } from '../topics/index.js';

// Triggers publish all three.

/** What a person or service account may has changed. */
export const accessTopic = defineTopic('access');
/** A credential was revoked. */
export const credentialTopic = defineTopic('credential');
/** Who may see a workspace has changed. */
export const workspaceAccessTopic = defineTopic('workspace-access');
